#include "samite/jit/gradient_check.h"

#include "samite/base/error.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <ostream>
#include <random>

namespace samite {
namespace {

// The contents of arrays, to be put back.
class Contents {
 public:
  explicit Contents(const std::vector<Buffer<double>> &arrays) : arrays_(arrays) {
    for (const Buffer<double> &array : arrays_) values_.push_back(array.to_vector());
  }
  void restore() {
    for (std::size_t i = 0; i < arrays_.size(); ++i) arrays_[i].copy_from(values_[i]);
  }
  const std::vector<double> &of(std::size_t array) const { return values_[array]; }

 private:
  std::vector<Buffer<double>> arrays_;
  std::vector<std::vector<double>> values_;
};

std::vector<std::int64_t> unflatten(std::int64_t element, const Extents &extents) {
  std::vector<std::int64_t> index(static_cast<std::size_t>(extents.rank()));
  for (int d = extents.rank() - 1; d >= 0; --d) {
    index[static_cast<std::size_t>(d)] = element % extents[d];
    element /= extents[d];
  }
  return index;
}

void require_tracked(const std::vector<Buffer<double>> &arrays, const char *what) {
  for (std::size_t i = 0; i < arrays.size(); ++i)
    if (!arrays[i].valid() || !arrays[i].tracks_gradient())
      throw UserError(
          fmt::format("gradient check: {} {} tracks no gradient; construct it with Gradient::tracked", what, i));
}

// The gradients of `inputs` for the given cotangents of `outputs`, by a tape over one run of `work`.
std::vector<std::vector<double>> gradients(const std::function<void()> &work, std::vector<Buffer<double>> &inputs,
                                           std::vector<Buffer<double>> &outputs,
                                           const std::vector<std::vector<double>> &cotangents) {
  for (auto *arrays : {&inputs, &outputs})
    for (Buffer<double> &array : *arrays) array.zero_gradient();
  Tape tape;
  tape.record(work);
  tape.zero_gradients();
  std::vector<Tape::Cotangent> seeds;
  for (std::size_t i = 0; i < outputs.size(); ++i)
    seeds.push_back({outputs[i], Buffer<double>(outputs[i].device(), outputs[i].extents(), cotangents[i])});
  tape.backward(seeds);
  std::vector<std::vector<double>> result;
  for (Buffer<double> &input : inputs) result.push_back(input.gradient().to_vector());
  return result;
}

}  // namespace

GradientReport gradcheck(const std::function<void()> &work, std::vector<Buffer<double>> inputs,
                         std::vector<Buffer<double>> outputs, const GradientCheckOptions &options) {
  require_tracked(inputs, "input");
  require_tracked(outputs, "output");
  Contents before_inputs(inputs), before_outputs(outputs);
  auto restore = [&] { before_outputs.restore(), before_inputs.restore(); };

  std::mt19937 generator(options.seed);
  std::uniform_real_distribution<double> weight(-1, 1);
  std::vector<std::vector<double>> weights;
  for (const Buffer<double> &output : outputs) {
    weights.emplace_back(static_cast<std::size_t>(output.count()));
    for (double &w : weights.back()) w = weight(generator);
  }
  auto objective = [&] {
    work();
    double sum = 0;
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      std::vector<double> values = outputs[o].to_vector();
      for (std::size_t i = 0; i < values.size(); ++i) sum += weights[o][i] * values[i];
    }
    return sum;
  };

  auto gradient = gradients(work, inputs, outputs, weights);
  GradientReport report;
  for (std::size_t input = 0; input < inputs.size(); ++input) {
    std::int64_t count = inputs[input].count();
    std::int64_t checked = options.elements > 0 ? std::min(options.elements, count) : count;
    for (std::int64_t n = 0; n < checked; ++n) {
      std::int64_t element = n * count / checked;
      auto at = static_cast<std::size_t>(element);
      std::vector<double> values = before_inputs.of(input);
      double center = values[at], step = options.step * std::max(1.0, std::fabs(center)), sums[2];
      for (int side = 0; side < 2; ++side) {
        restore();
        values[at] = side ? center + step : center - step;
        inputs[input].copy_from(values);
        sums[side] = objective();
      }
      double difference = (sums[1] - sums[0]) / (2 * step), given = gradient[input][at];
      double error = std::fabs(given - difference) / std::max(1.0, std::fabs(difference));
      ++report.checked;
      // A NaN is worse than any number.
      if (report.checked > 1 && !(error > report.error) && !std::isnan(error)) continue;
      if (std::isnan(report.error)) continue;
      report.error = error, report.gradient = given, report.difference = difference;
      report.input = input, report.name = inputs[input].name();
      report.index = unflatten(element, inputs[input].extents());
    }
  }
  restore();
  report.passed = report.error <= options.tolerance;
  return report;
}

std::vector<double> jacobian(const std::function<void()> &work, const Buffer<double> &input,
                             const Buffer<double> &output) {
  std::vector<Buffer<double>> inputs{input}, outputs{output};
  require_tracked(inputs, "input");
  require_tracked(outputs, "output");
  Contents before_input(inputs), before_output(outputs);
  std::vector<double> rows;
  for (std::int64_t i = 0; i < output.count(); ++i) {
    before_output.restore();
    before_input.restore();
    std::vector<double> unit(static_cast<std::size_t>(output.count()));
    unit[static_cast<std::size_t>(i)] = 1;
    auto row = gradients(work, inputs, outputs, {unit});
    rows.insert(rows.end(), row[0].begin(), row[0].end());
  }
  before_output.restore();
  before_input.restore();
  return rows;
}

std::string GradientReport::to_string() const {
  std::string which = name.empty() ? fmt::format("input {}", input) : fmt::format("input {} ('{}')", input, name);
  return fmt::format(
      "gradient check {}: of {} elements the worst is ({}) of {}: gradient {:.10g}, difference {:.10g}, "
      "error {:.3g}",
      passed ? "passed" : "FAILED", checked, fmt::join(index, ", "), which, gradient, difference, error);
}

std::ostream &operator<<(std::ostream &stream, const GradientReport &report) { return stream << report.to_string(); }

}  // namespace samite
