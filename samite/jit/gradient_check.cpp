#include "samite/jit/gradient_check.h"

#include "samite/base/error.h"

#include <algorithm>
#include <cmath>

namespace samite {

namespace {

GradientReport check(FunctionRef<void()> work, const jit::DifferentiableArguments &arguments,
                     const GradientCheckOptions &options) {
  std::vector<Buffer<double>> inputs = arguments.inputs, outputs = arguments.outputs;
  jit::require_tracked("gradcheck", inputs, "input");
  jit::require_tracked("gradcheck", outputs, "output");
  jit::Contents before_inputs(inputs), before_outputs(outputs);
  auto restore = [&] { before_outputs.restore(), before_inputs.restore(); };

  using Values = std::vector<std::vector<double>>;
  const auto results = [&] {
    work();
    Values values;
    for (const Buffer<double> &output : outputs) values.push_back(output.to_vector());
    return values;
  };
  const auto moved = [&](std::size_t input, std::vector<double> values) {
    restore();
    inputs[input].copy_from(values);
    return results();
  };

  // Each output is scaled by its own size: its value, or its response to a random step of all inputs.
  Values weights = jit::random_values(outputs, options.seed);
  restore();
  const Values at_center = results();
  restore();
  const Values directions = jit::random_values(inputs, options.seed + 1);
  for (std::size_t input = 0; input < inputs.size(); ++input) {
    std::vector<double> values = before_inputs.of(input);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] += options.step * std::max(1.0, std::fabs(values[i])) * directions[input][i];
    inputs[input].copy_from(values);
  }
  const Values beside = results();
  restore();
  for (std::size_t o = 0; o < outputs.size(); ++o)
    for (std::size_t i = 0; i < weights[o].size(); ++i) {
      const double value = at_center[o][i], change = std::fabs(beside[o][i] - value);
      // An output that is zero up to rounding has no scale of its own. It stays the same, or changes by much of its
      // size.
      if (change < 1e-12 && (change == 0 || change > 1e-3 * std::fabs(value))) continue;
      const double scale = std::max(std::fabs(value), change / options.step);
      if (std::isnormal(scale)) weights[o][i] /= scale;
    }

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
      const double center = values[at], size = std::max(1.0, std::fabs(center)), step = options.step * size;
      values[at] = center - step;
      const Values below = moved(input, values);
      values[at] = center + step;
      const Values above = moved(input, values);
      // Output by output, so that outputs independent of this element add no rounding.
      double difference = 0;
      for (std::size_t o = 0; o < outputs.size(); ++o)
        for (std::size_t i = 0; i < weights[o].size(); ++i)
          difference += weights[o][i] * ((above[o][i] - below[o][i]) / (2 * step));
      report.take(input, name, jit::index_of(element, inputs[input].extents()), gradient[input][at], difference, size);
    }
  }
  restore();
  report.passed = report.error <= options.tolerance;
  return report;
}

}  // namespace

GradientReport jit::gradcheck(FunctionRef<void()> work, const DifferentiableArguments &arguments,
                              const GradientCheckOptions &options, SourceLocation where) {
  return at_call("checked", where, [&] { return check(work, arguments, options); });
}

GradientReport gradcheck(FunctionRef<void()> work, std::vector<Buffer<double>> inputs,
                         std::vector<Buffer<double>> outputs, const GradientCheckOptions &options,
                         SourceLocation where) {
  return jit::gradcheck(work, {std::move(inputs), std::move(outputs), {}}, options, where);
}

}  // namespace samite
