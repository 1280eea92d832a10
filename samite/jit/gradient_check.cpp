#include "samite/jit/gradient_check.h"

#include "samite/base/error.h"

#include <algorithm>
#include <cmath>

namespace samite {

namespace {

GradientReport check(const std::function<void()> &work, const jit::DifferentiableArguments &arguments,
                     const GradientCheckOptions &options) {
  std::vector<Buffer<double>> inputs = arguments.inputs, outputs = arguments.outputs;
  jit::require_tracked("gradcheck", inputs, "input");
  jit::require_tracked("gradcheck", outputs, "output");
  jit::Contents before_inputs(inputs), before_outputs(outputs);
  auto restore = [&] { before_outputs.restore(), before_inputs.restore(); };

  auto weights = jit::random_values(outputs, options.seed);
  auto objective = [&] {
    work();
    double sum = 0;
    for (std::size_t o = 0; o < outputs.size(); ++o) {
      std::vector<double> values = outputs[o].to_vector();
      for (std::size_t i = 0; i < values.size(); ++i) sum += weights[o][i] * values[i];
    }
    return sum;
  };

  auto gradient = jit::gradients(work, inputs, outputs, weights);
  GradientReport report;
  for (std::size_t input = 0; input < inputs.size(); ++input) {
    std::string name = inputs[input].name();
    if (name.empty() && input < arguments.names.size()) name = arguments.names[input];
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
      double difference = (sums[1] - sums[0]) / (2 * step);
      report.take(input, name, jit::index_of(element, inputs[input].extents()), gradient[input][at], difference);
    }
  }
  restore();
  report.passed = report.error <= options.tolerance;
  return report;
}

}  // namespace

GradientReport jit::gradcheck(const std::function<void()> &work, const DifferentiableArguments &arguments,
                              const GradientCheckOptions &options, SourceLocation where) {
  return at_call("checked", where, [&] { return check(work, arguments, options); });
}

GradientReport gradcheck(const std::function<void()> &work, std::vector<Buffer<double>> inputs,
                         std::vector<Buffer<double>> outputs, const GradientCheckOptions &options,
                         SourceLocation where) {
  return jit::gradcheck(work, {std::move(inputs), std::move(outputs), {}}, options, where);
}

}  // namespace samite
