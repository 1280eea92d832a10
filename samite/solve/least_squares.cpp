#include "samite/solve/least_squares.h"

#include "samite/base/error.h"
#include "samite/lang/parameters.h"
#include "samite/solve/kernel_types.h"
#include "samite/solve/least_squares_solve.h"
#include "samite/solve/scan.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace samite::solvers {
namespace {

using detail::LeastSquaresProblem;

[[noreturn]] void refuse(SourceLocation where, const std::string &what) {
  throw UserError(where, "least squares: " + what);
}

void check_bounds(const detail::Parameters &of, const Buffer<double> &values, SourceLocation where) {
  if (of.lower.empty() && of.upper.empty()) return;
  const auto size = static_cast<std::size_t>(of.manifold.size());
  if (!of.manifold.is_euclidean())
    refuse(where, "bounds are for Euclidean parameters, those of '" + of.name + "' are " + of.manifold.to_string());
  for (const std::vector<double> *bounds : {&of.lower, &of.upper})
    if (!bounds->empty() && bounds->size() != size)
      refuse(where, "a bound for each of the " + std::to_string(size) + " numbers of '" + of.name + "' is expected, " +
                        std::to_string(bounds->size()) + " are given");
  const std::vector<double> numbers = values.to_vector();
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    const double lower = of.lower.empty() ? -HUGE_VAL : of.lower[i % size],
                 upper = of.upper.empty() ? HUGE_VAL : of.upper[i % size];
    if (!(lower <= numbers[i] && numbers[i] <= upper))
      refuse(where, "number " + std::to_string(i % size) + " of block " + std::to_string(i / size) + " of '" + of.name +
                        "' is " + std::to_string(numbers[i]) + ", outside of its bounds " + std::to_string(lower) +
                        " to " + std::to_string(upper));
  }
}

// As rows x numbers, for a parameter of a function. UserError if the array does not fit.
AnyBuffer rows_of(const AnyBuffer &buffer, std::int64_t rows, const std::vector<ScalarType> &scalars,
                  const Device &device, const std::string &what, SourceLocation where) {
  const auto numbers = static_cast<std::int64_t>(scalars.size());
  for (const ScalarType scalar : scalars)
    if (scalar != scalars.front()) refuse(where, what + " is a struct of numbers of different types");
  const std::string given = buffer.valid() ? buffer.to_string() : "an empty buffer";
  if (!buffer.valid() || buffer.type() != scalars.front() || !(buffer.device() == device) || buffer.rank() < 1 ||
      buffer.extents()[0] != rows || buffer.count() != rows * numbers)
    refuse(where, what + " takes " + std::to_string(numbers) + " " + std::string(samite::name(scalars.front())) +
                      " of each of " + std::to_string(rows) + " rows on " + device.to_string() + ", " + given +
                      " is given");
  return buffer.reshape({rows, numbers});
}

std::vector<std::int32_t> checked_index(const BlockOf &block, const detail::Parameters &of, const std::string &name,
                                        SourceLocation where) {
  if (!block.index.valid() || block.index.rank() != 1 || !(block.index.device() == of.values.device()))
    refuse(where,
           "the indices of '" + of.name + "' for '" + name + "' are a vector on " + of.values.device().to_string());
  std::vector<std::int32_t> index = block.index.to_vector();
  for (std::size_t i = 0; i < index.size(); ++i)
    if (index[i] < 0 || index[i] >= of.blocks())
      refuse(where, "observation " + std::to_string(i) + " of '" + name + "' is of block " + std::to_string(index[i]) +
                        " of '" + of.name + "', which has " + std::to_string(of.blocks()));
  return index;
}

void check_loss(const Loss &loss, SourceLocation where) {
  if (!(loss.width > 0) || !(loss.scale > 0) || !std::isfinite(loss.width) || !std::isfinite(loss.scale))
    refuse(where, "a loss of positive width and scale is expected, " + std::to_string(loss.width) + " and " +
                      std::to_string(loss.scale) + " are given");
}

void check_options(const LeastSquaresOptions &of, SourceLocation where) {
  if (of.iterations < 0 || !(of.cost_tolerance >= 0) || !(of.gradient_tolerance >= 0) || !(of.step_tolerance >= 0) ||
      !(of.radius > 0) || !(of.inner_tolerance > 0))
    refuse(where, "iterations and tolerances of at least 0, and a positive radius and inner tolerance are expected");
}

// Names are those of kernels, too.
void check_name(const std::string &name, SourceLocation where) {
  if (!lang::is_identifier(name)) refuse(where, "a name of letters, digits and _ is expected, '" + name + "' is given");
}

std::vector<Buffer<double>> values_of(const LeastSquaresProblem &problem) {
  std::vector<Buffer<double>> values;
  for (const detail::Parameters &of : problem.parameters) values.push_back(of.values);
  return values;
}

}  // namespace

LeastSquares::LeastSquares(SourceLocation) : problem_(std::make_shared<LeastSquaresProblem>()) {}

ParameterBlocks LeastSquares::add_parameters(std::string name, const Buffer<double> &values,
                                             const ParameterOptions &options, SourceLocation where) {
  check_name(name, where);
  if (!values.valid() || values.rank() < 1 || values.rank() > 2)
    refuse(where, "parameters '" + name + "' are an array of blocks, of blocks x numbers; " +
                      (values.valid() ? values.to_string() : std::string("an empty buffer")) + " is given");
  const std::int64_t blocks = values.extents()[0], numbers = values.rank() == 2 ? values.extents()[1] : 1;
  if (!problem_->parameters.empty() && !(values.device() == problem_->device()))
    refuse(where, "parameters '" + name + "' are expected on " + problem_->device().to_string() +
                      ", as the others, and given on " + values.device().to_string());
  detail::Parameters of;
  of.manifold =
      options.manifold.size() == 0 && numbers > 0 ? Manifold::euclidean(static_cast<int>(numbers)) : options.manifold;
  if (of.manifold.size() != numbers)
    refuse(where, "blocks of " + std::to_string(of.manifold.size()) + " numbers are expected for '" + name + "' (" +
                      of.manifold.to_string() + "), of " + std::to_string(numbers) + " are given");
  of.name = std::move(name);
  of.values = values.reshape({blocks, numbers});
  of.fixed.resize(static_cast<std::size_t>(blocks));
  for (const std::int64_t block : options.fixed) {
    if (block < 0 || block >= blocks)
      refuse(where, "block " + std::to_string(block) + " of '" + of.name + "' cannot be fixed: there are " +
                        std::to_string(blocks));
    of.fixed[static_cast<std::size_t>(block)] = true;
  }
  of.eliminated = options.eliminated;
  of.lower = options.lower, of.upper = options.upper;
  check_bounds(of, of.values, where);
  of.step = detail::step_kernel(of.name, of.manifold, where);
  problem_->parameters.push_back(std::move(of));
  return {problem_->parameters.size() - 1};
}

void LeastSquares::add(std::string name, detail::ResidualFunction function, std::vector<BlockOf> blocks,
                       const std::vector<AnyBuffer> &observations, const ResidualOptions &options,
                       SourceLocation where) {
  check_name(name, where);
  check_loss(options.loss, where);
  if (function.parameters.size() != blocks.size() + observations.size())
    refuse(where, "the function of '" + name + "' takes " + std::to_string(function.parameters.size()) +
                      " values, and is given " + std::to_string(blocks.size()) + " blocks and " +
                      std::to_string(observations.size()) + " arrays of observations");
  for (const ScalarType type : function.results)
    if (type != ScalarType::Float64) refuse(where, "the residuals of '" + name + "' are expected in f64");
  std::vector<detail::Residuals::Block> of_blocks;
  std::vector<Manifold> manifolds;
  int columns = 0;
  for (std::size_t i = 0; i < blocks.size(); ++i) {
    if (blocks[i].parameters.number >= problem_->parameters.size())
      refuse(where, "the parameters of '" + name + "' are of another problem");
    const detail::Parameters &of = problem_->parameters[blocks[i].parameters.number];
    rows_of(of.values, of.blocks(), function.parameters[i], problem_->device(),
            "parameter " + std::to_string(i) + " of the function of '" + name + "'", where);
    std::vector<std::int32_t> index = checked_index(blocks[i], of, name, where);
    if (i > 0 && index.size() != of_blocks.front().host_index.size())
      refuse(where, "as many indices for each block of '" + name + "' are expected, " +
                        std::to_string(of_blocks.front().host_index.size()) + " and " + std::to_string(index.size()) +
                        " are given");
    of_blocks.push_back({blocks[i].parameters.number, blocks[i].index, std::move(index), columns});
    manifolds.push_back(of.manifold);
    columns += of.manifold.tangent();
  }
  const std::int64_t count = blocks.front().index.count();
  std::vector<AnyBuffer> rows;
  for (std::size_t i = 0; i < observations.size(); ++i)
    rows.push_back(rows_of(observations[i], count, function.parameters[blocks.size() + i], problem_->device(),
                           "parameter " + std::to_string(blocks.size() + i) + " of the function of '" + name + "'",
                           where));
  detail::ResidualKernels kernels(name, function, manifolds, options.loss.kind, where);
  problem_->residuals.push_back({std::move(name), count, static_cast<int>(function.results.size()), columns,
                                 std::move(of_blocks), std::move(rows), options.loss, std::move(kernels)});
}

LeastSquaresReport LeastSquares::solve(const LeastSquaresOptions &options, SourceLocation where) {
  check_options(options, where);
  if (problem_->parameters.empty() || problem_->residuals.empty())
    refuse(where, "the problem has no " + std::string(problem_->parameters.empty() ? "parameters" : "residuals"));
  for (const detail::Residuals &of : problem_->residuals)
    if (options.acceleration && of.loss.kind != Loss::Kind::squared)
      refuse(where, "acceleration is for squared losses, and '" + of.name + "' has another one");
  return detail::minimise(*problem_, options, where);
}

double LeastSquares::cost(SourceLocation where) const {
  if (problem_->residuals.empty()) return 0;
  return detail::Linearisation(*problem_, false).compute(*problem_, values_of(*problem_), false, where);
}

std::vector<double> LeastSquares::covariance(ParameterBlocks parameters, std::int64_t block,
                                             SourceLocation where) const {
  if (parameters.number >= problem_->parameters.size() || block < 0 ||
      block >= problem_->parameters[parameters.number].blocks())
    refuse(where, "there is no such block to have a covariance");
  const detail::Columns columns = problem_->columns(where);
  const std::int32_t first = columns.of[parameters.number][static_cast<std::size_t>(block)];
  const std::string &name = problem_->parameters[parameters.number].name;
  if (first < 0) refuse(where, "block " + std::to_string(block) + " of '" + name + "' is fixed, and has no covariance");
  if (static_cast<double>(problem_->residual_count()) * static_cast<double>(columns.all) > 1e8)
    refuse(where, "a covariance of a problem of " + std::to_string(columns.all) + " parameters and " +
                      std::to_string(problem_->residual_count()) + " residuals is too large");
  detail::Linearisation at(*problem_, true);
  at.compute(*problem_, values_of(*problem_), true, where);
  at.refuse_not_finite(*problem_, true, where);
  const std::vector<double> all = detail::inverse_of_normal_matrix(jacobian_on_host(*problem_, columns, at));
  if (all.empty())
    refuse(where, "the residuals do not determine all parameters, so that there is no covariance; fix some of them");
  const auto width = static_cast<std::size_t>(problem_->parameters[parameters.number].manifold.tangent());
  std::vector<double> result;
  for (std::size_t i = 0; i < width; ++i)
    for (std::size_t j = 0; j < width; ++j)
      result.push_back(all[(static_cast<std::size_t>(first) + i) * static_cast<std::size_t>(columns.all) +
                           static_cast<std::size_t>(first) + j]);
  return result;
}

}  // namespace samite::solvers
