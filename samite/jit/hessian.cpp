#include "samite/jit/hessian.h"

#include "samite/base/error.h"
#include "samite/jit/tangent_launches.h"

#include <algorithm>
#include <cmath>

namespace samite {
namespace {

void check(const std::vector<Buffer<double>> &inputs, const std::vector<std::vector<double>> &directions,
           const Buffer<double> &objective) {
  const char *tool = "hessian_vector_product";
  jit::require_tracked(tool, inputs, "input");
  jit::require_tracked(tool, {objective}, "objective");
  if (objective.count() != 1)
    throw UserError(std::string(tool) + ": the objective is expected to have one element; " + objective.to_string() +
                    " is given");
  if (directions.size() != inputs.size())
    throw UserError(std::string(tool) + ": one direction is expected for each of the " + std::to_string(inputs.size()) +
                    " inputs; " + std::to_string(directions.size()) + " are given");
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (directions[i].size() != static_cast<std::size_t>(inputs[i].count()))
      throw UserError(std::string(tool) + ": the direction for input " + std::to_string(i) + " is expected to have " +
                      std::to_string(inputs[i].count()) + " numbers; " + std::to_string(directions[i].size()) +
                      " are given");
}

HessianVectorProduct product(FunctionRef<void()> work, std::vector<Buffer<double>> inputs,
                             const std::vector<std::vector<double>> &directions, const Buffer<double> &objective) {
  check(inputs, directions, objective);
  jit::Contents before_inputs(inputs), before_objective({objective});
  jit::TangentLaunches launches;
  std::vector<Buffer<double>> tangents;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    tangents.emplace_back(launches.of(inputs[i]));
    tangents.back().copy_from(directions[i]);
  }
  Tape tape;
  tape.record([&] { launches.run(work); });
  tape.zero_gradients();
  // The objective's tangent is the slope along the direction; the slope's gradient is the product.
  Buffer<double> slope(launches.of(objective));
  HessianVectorProduct result;
  result.slope = slope.to_vector()[0];
  tape.backward(slope);
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    result.product.push_back(inputs[i].gradient().to_vector());
    result.gradient.push_back(tangents[i].gradient().to_vector());
  }
  before_objective.restore();
  before_inputs.restore();
  return result;
}

GradientReport check_product(FunctionRef<void()> work, std::vector<Buffer<double>> inputs,
                             const Buffer<double> &objective, const GradientCheckOptions &options) {
  jit::require_tracked("hessian_check", inputs, "input");
  auto directions = jit::random_values(inputs, options.seed);
  HessianVectorProduct analytic = product(work, inputs, directions, objective);

  std::vector<Buffer<double>> outputs{objective};
  jit::Contents before_inputs(inputs), before_objective(outputs);
  std::vector<std::vector<double>> gradients[2];
  for (int side = 0; side < 2; ++side) {
    before_objective.restore();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      std::vector<double> values = before_inputs.of(i);
      for (std::size_t n = 0; n < values.size(); ++n)
        values[n] += (side ? options.step : -options.step) * directions[i][n];
      inputs[i].copy_from(values);
    }
    gradients[side] = jit::gradients(work, inputs, outputs, {{1.0}});
  }
  before_objective.restore();
  before_inputs.restore();

  GradientReport report;
  report.of = "Hessian-vector product";
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    std::int64_t count = inputs[i].count();
    std::int64_t checked = options.elements > 0 ? std::min(options.elements, count) : count;
    for (std::int64_t n = 0; n < checked; ++n) {
      std::int64_t element = n * count / checked;
      auto at = static_cast<std::size_t>(element);
      double difference = (gradients[1][i][at] - gradients[0][i][at]) / (2 * options.step);
      report.take(i, inputs[i].name(), jit::index_of(element, inputs[i].extents()), analytic.product[i][at],
                  difference);
    }
  }
  report.passed = report.error <= options.tolerance;
  return report;
}

}  // namespace

HessianVectorProduct hessian_vector_product(FunctionRef<void()> work, std::vector<Buffer<double>> inputs,
                                            const std::vector<std::vector<double>> &directions,
                                            const Buffer<double> &objective, SourceLocation where) {
  return at_call("computed", where, [&] { return product(work, inputs, directions, objective); });
}

GradientReport hessian_check(FunctionRef<void()> work, std::vector<Buffer<double>> inputs,
                             const Buffer<double> &objective, const GradientCheckOptions &options,
                             SourceLocation where) {
  return at_call("checked", where, [&] { return check_product(work, inputs, objective, options); });
}

}  // namespace samite
