#include "samite/solve/least_squares_problem.h"

#include "samite/base/error.h"
#include "samite/jit/kernel.h"
#include "samite/lang/control.h"
#include "samite/lang/math.h"
#include "samite/solve/manifold_steps.h"
#include "samite/solve/scan.h"

#include <cmath>

namespace samite::solvers::detail {
namespace {

std::string block_name(const Parameters &of, std::int64_t block) {
  return "block " + std::to_string(block) + " of '" + of.name + "'";
}

std::vector<std::vector<bool>> blocks_in_residuals(const LeastSquaresProblem &problem) {
  std::vector<std::vector<bool>> used;
  for (const Parameters &of : problem.parameters) used.emplace_back(static_cast<std::size_t>(of.blocks()));
  for (const Residuals &of : problem.residuals)
    for (const Residuals::Block &block : of.blocks)
      for (const std::int32_t index : block.host_index) used[block.parameters][static_cast<std::size_t>(index)] = true;
  return used;
}

}  // namespace

std::int64_t LeastSquaresProblem::residual_count() const {
  std::int64_t count = 0;
  for (const Residuals &of : residuals) count += of.count * of.rows;
  return count;
}

Columns LeastSquaresProblem::columns(SourceLocation where) const {
  const std::vector<std::vector<bool>> used = blocks_in_residuals(*this);
  Columns columns;
  for (const Parameters &of : parameters) {
    columns.of.emplace_back(static_cast<std::size_t>(of.blocks()), -1);
    columns.number.emplace_back(static_cast<std::size_t>(of.blocks()), -1);
  }
  for (const bool eliminated : {false, true}) {
    if (eliminated) columns.kept = columns.all;
    for (std::size_t f = 0; f < parameters.size(); ++f) {
      const Parameters &of = parameters[f];
      if (of.eliminated != eliminated || of.manifold.tangent() == 0) continue;
      for (std::size_t b = 0; b < of.fixed.size(); ++b) {
        if (of.fixed[b]) continue;
        if (!used[f][b])
          throw UserError(where, "least squares: " + block_name(of, static_cast<std::int64_t>(b)) +
                                     " is in no residual, so that nothing determines it; fix it, or leave it out");
        columns.of[f][b] = static_cast<std::int32_t>(columns.all);
        columns.number[f][b] = static_cast<std::int32_t>(columns.owners.size());
        columns.owners.push_back({f, static_cast<std::int32_t>(b)});
        columns.all += of.manifold.tangent();
        if (columns.all > 2147483647) throw UserError(where, "least squares: more than 2147483647 parameters");
      }
    }
  }
  if (columns.all == 0)
    throw UserError(where, "least squares: there is nothing to find, since no parameters are given or all are fixed");
  for (std::size_t f = 0; f < parameters.size(); ++f)
    columns.on_device.emplace_back(device(), Extents{parameters[f].blocks()}, columns.of[f]);
  return columns;
}

std::string LeastSquaresProblem::name_of(const Columns &columns, std::int64_t column) const {
  for (const Columns::Owner &owner : columns.owners) {
    const Parameters &of = parameters[owner.parameters];
    const std::int32_t first = columns.of[owner.parameters][static_cast<std::size_t>(owner.block)];
    if (column >= first && column < first + of.manifold.tangent()) return block_name(of, owner.block);
  }
  return "a block";
}

Linearisation::Linearisation(const LeastSquaresProblem &problem, bool derives) {
  for (const Residuals &of : problem.residuals) {
    residuals.emplace_back(problem.device(), Extents{of.count, of.rows});
    costs.emplace_back(problem.device(), Extents{of.count});
    if (derives) jacobians.emplace_back(problem.device(), Extents{of.count, of.rows * of.columns});
  }
}

double Linearisation::compute(const LeastSquaresProblem &problem, const std::vector<Buffer<double>> &values,
                              bool derives, SourceLocation where) {
  double cost = 0;
  const Buffer<double> sum(problem.device(), {1});
  for (std::size_t r = 0; r < problem.residuals.size(); ++r) {
    const Residuals &of = problem.residuals[r];
    if (of.count == 0) continue;
    ResidualKernels::Arguments arguments;
    for (const Residuals::Block &block : of.blocks) {
      arguments.values.push_back(values[block.parameters]);
      arguments.indices.push_back(block.index);
    }
    arguments.values.insert(arguments.values.end(), of.observations.begin(), of.observations.end());
    arguments.loss = of.loss;
    arguments.residuals = residuals[r], arguments.costs = costs[r];
    if (derives) arguments.jacobian = jacobians[r];
    of.kernels.launch(of.count, arguments, where);
    reduce(costs[r], sum, Combine::sum, where);
    cost += sum.at(0);
  }
  return cost;
}

void Linearisation::refuse_not_finite(const LeastSquaresProblem &problem, bool derives, SourceLocation where) const {
  for (std::size_t r = 0; r < problem.residuals.size(); ++r) {
    const Residuals &of = problem.residuals[r];
    const std::vector<double> values = residuals[r].to_vector();
    const auto rows = static_cast<std::size_t>(of.rows), columns = static_cast<std::size_t>(of.columns);
    for (std::size_t i = 0; i < values.size(); ++i)
      if (!std::isfinite(values[i]))
        throw UserError(where, "least squares: residual " + std::to_string(i % rows) + " of observation " +
                                   std::to_string(i / rows) + " of '" + of.name + "' is " + std::to_string(values[i]));
    if (!derives) continue;
    const std::vector<double> derivatives = jacobians[r].to_vector();
    for (std::size_t i = 0; i < derivatives.size(); ++i) {
      if (std::isfinite(derivatives[i])) continue;
      const std::size_t observation = i / (rows * columns), column = i % columns;
      std::size_t b = of.blocks.size() - 1;
      while (static_cast<std::size_t>(of.blocks[b].column) > column) --b;
      throw UserError(
          where, "least squares: a derivative of observation " + std::to_string(observation) + " of '" + of.name +
                     "' by " +
                     block_name(problem.parameters[of.blocks[b].parameters], of.blocks[b].host_index[observation]) +
                     " is " + std::to_string(derivatives[i]));
    }
  }
}

std::shared_ptr<jit::KernelDefinition> step_kernel(const std::string &name, const Manifold &manifold,
                                                   SourceLocation where) {
  const std::vector<ir::Parameter> parameters{{"stepped", ScalarType::Float64, 2},
                                              {"values", ScalarType::Float64, 2, true},
                                              {"columns", ScalarType::Int32, 1, true},
                                              {"step", ScalarType::Float64, 1, true},
                                              {"bounds", ScalarType::Float64, 2, true}};
  const auto body = [&](std::uint32_t serial) {
    const Array<double, 2> stepped_values(serial, 0);
    const Array<const double, 2> values(serial, 1), bounds(serial, 4);
    const Array<const std::int32_t, 1> columns(serial, 2);
    const Array<const double, 1> step(serial, 3);
    const Int i = thread_index(), column = columns(i);
    TracedNumbers x, change;
    for (int c = 0; c < manifold.size(); ++c) x.push_back(values(i, c));
    for (int c = 0; c < manifold.tangent(); ++c) {
      // The steps of fixed blocks are zeros.
      Double number = 0;
      if_(column >= 0, [&] { number = step(column + c); });
      change.push_back(number);
    }
    const TracedNumbers result = stepped(manifold, x, change);
    for (int c = 0; c < manifold.size(); ++c)
      stepped_values(i, c) =
          select(column >= 0, min(max(result[static_cast<std::size_t>(c)], bounds(0, c)), bounds(1, c)),
                 x[static_cast<std::size_t>(c)]);
  };
  return jit::define_kernel("step_of_" + name, parameters, body, where);
}

void take_step(const Parameters &of, const Buffer<std::int32_t> &columns, const Buffer<double> &step,
               const Buffer<double> &stepped, SourceLocation where) {
  const auto size = static_cast<std::size_t>(of.manifold.size());
  std::vector<double> limits(2 * size, -HUGE_VAL);
  std::fill(limits.begin() + static_cast<std::ptrdiff_t>(size), limits.end(), HUGE_VAL);
  std::copy(of.lower.begin(), of.lower.end(), limits.begin());
  std::copy(of.upper.begin(), of.upper.end(), limits.begin() + static_cast<std::ptrdiff_t>(size));
  const Buffer<double> bounds(of.values.device(), {2, size}, limits);
  const jit::Argument arguments[] = {{&stepped}, {&of.values}, {&columns}, {&step}, {&bounds}};
  jit::launch_once(of.step, {{of.blocks()}, where}, {}, arguments);
}

}  // namespace samite::solvers::detail
