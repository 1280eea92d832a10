#include "samite/solve/least_squares_step.h"

#include "samite/base/error.h"
#include "samite/jit/kernel.h"
#include "samite/lang/control.h"
#include "samite/solve/solver.h"
#include "samite/solve/vector_space.h"

#include <algorithm>
#include <cmath>

namespace samite::solvers::detail {
namespace {

// Above, J is not stored as a dense matrix of the host.
constexpr double most_numbers_for_qr = 1e6;

StepSolver chosen(const LeastSquaresProblem &problem, const Columns &columns, StepSolver asked) {
  if (asked != StepSolver::automatic) return asked;
  if (columns.kept < columns.all) return StepSolver::schur;
  const double numbers = static_cast<double>(problem.residual_count()) * static_cast<double>(columns.all);
  return numbers <= most_numbers_for_qr ? StepSolver::dense_qr : StepSolver::sparse;
}

const auto &scaled_by_diagonal() {
  static const Kernel kernel{"divide_by_diagonal",
                             {"z", "r", "diagonal"},
                             [](Array<double, 1> z, Array<const double, 1> r, Array<const double, 1> diagonal) {
                               const Int i = thread_index();
                               z(i) = r(i) / diagonal(i);
                             }};
  return kernel;
}

const auto &add_damping() {
  static const Kernel kernel{"add_damping",
                             {"y", "x", "damping"},
                             [](Array<double, 1> y, Array<const double, 1> x, Array<const double, 1> damping) {
                               const Int i = thread_index();
                               y(i) += damping(i) * x(i);
                             }};
  return kernel;
}

std::vector<double> negative(std::vector<double> numbers) {
  for (double &number : numbers) number = -number;
  return numbers;
}

}  // namespace

TallMatrix jacobian_on_host(const LeastSquaresProblem &problem, const Columns &columns, const Linearisation &of) {
  TallMatrix matrix{problem.residual_count(), columns.all, {}};
  const auto width = static_cast<std::size_t>(columns.all);
  matrix.values.resize(static_cast<std::size_t>(matrix.rows) * width);
  std::size_t row = 0;
  for (std::size_t r = 0; r < problem.residuals.size(); ++r) {
    const Residuals &residuals = problem.residuals[r];
    const std::vector<double> values = of.jacobians[r].to_vector();
    std::size_t at = 0;
    for (std::size_t i = 0; i < static_cast<std::size_t>(residuals.count); ++i)
      for (int k = 0; k < residuals.rows; ++k, ++row)
        for (const Residuals::Block &block : residuals.blocks) {
          const std::int32_t first = columns.of[block.parameters][static_cast<std::size_t>(block.host_index[i])];
          const int count = problem.parameters[block.parameters].manifold.tangent();
          for (int c = 0; c < count; ++c, ++at)
            if (first >= 0) matrix.values[row * width + static_cast<std::size_t>(first + c)] += values[at];
        }
  }
  return matrix;
}

StepFinder::StepFinder(const LeastSquaresProblem &problem, const Columns &columns, const LeastSquaresOptions &options,
                       SourceLocation where)
    : problem_(problem),
      columns_(columns),
      options_(options),
      where_(where),
      kind_(chosen(problem, columns, options.solver)),
      equations_(problem, columns, kind_ == StepSolver::sparse || kind_ == StepSolver::schur) {
  if (kind_ == StepSolver::schur) schur_ = std::make_unique<SchurComplement>(problem, columns, equations_, where);
  if (kind_ == StepSolver::sparse) {
    std::vector<LowerBlocks> patterns;
    for (const BlockGroup &group : equations_.groups())
      patterns.push_back({group.rows, group.columns, group.row_offsets, group.column_offsets, {}});
    system_ = std::make_unique<SymmetricSystem>(columns.all, patterns);
  }
  for (const Residuals &of : problem.residuals) products_.emplace_back(problem.device(), Extents{of.count, of.rows});
}

NormalVectors StepFinder::prepare(const Linearisation &of) {
  at_ = &of;
  if (kind_ == StepSolver::sparse || kind_ == StepSolver::schur) equations_.compute_matrix(of);
  const Buffer<double> on_device(problem_.device(), {columns_.all});
  NormalVectors vectors;
  equations_.transposed_product(of, of.residuals, on_device);
  vectors.gradient = on_device.to_vector();
  equations_.diagonal(of, on_device);
  vectors.diagonal = on_device.to_vector();
  if (kind_ == StepSolver::dense_qr) {
    jacobian_ = jacobian_on_host(problem_, columns_, of);
    keep_residuals(of.residuals);
  }
  return vectors;
}

void StepFinder::keep_residuals(const std::vector<Buffer<double>> &residuals) {
  residuals_.clear();
  for (const Buffer<double> &part : residuals) {
    const std::vector<double> values = part.to_vector();
    residuals_.insert(residuals_.end(), values.begin(), values.end());
  }
}

std::vector<double> StepFinder::step_for(const std::vector<Buffer<double>> &residuals, const NormalVectors &at,
                                         const std::vector<double> &damping) {
  const Buffer<double> on_device(problem_.device(), {columns_.all});
  equations_.transposed_product(*at_, residuals, on_device);
  if (kind_ == StepSolver::dense_qr) keep_residuals(residuals);
  std::vector<double> result = step({on_device.to_vector(), at.diagonal}, damping);
  if (kind_ == StepSolver::dense_qr) keep_residuals(at_->residuals);
  return result;
}

std::vector<double> StepFinder::step(const NormalVectors &at, const std::vector<double> &damping) {
  std::vector<double> step;
  switch (kind_) {
    case StepSolver::dense_qr: step = step_by_qr(damping); break;
    case StepSolver::schur: step = schur_->solve(equations_, negative(at.gradient), damping); break;
    case StepSolver::conjugate_gradients: step = step_by_conjugate_gradients(at, damping); break;
    default: step = step_by_elimination(at, damping);
  }
  if (!std::all_of(step.begin(), step.end(), [](double number) { return std::isfinite(number); })) step.clear();
  return step;
}

std::vector<double> StepFinder::step_by_qr(const std::vector<double> &damping) const {
  return negative(least_squares_by_qr(jacobian_, residuals_, damping));
}

std::vector<double> StepFinder::step_by_elimination(const NormalVectors &at, const std::vector<double> &damping) {
  std::vector<LowerBlocks> blocks;
  for (const BlockGroup &group : equations_.groups()) blocks.push_back(group.on_host());
  if (!system_->factor(blocks, damping)) return {};
  return system_->solve(negative(at.gradient));
}

std::vector<double> StepFinder::step_by_conjugate_gradients(const NormalVectors &at,
                                                            const std::vector<double> &damping) {
  const Device device = problem_.device();
  const Extents all{columns_.all};
  std::vector<double> diagonal = at.diagonal;
  for (std::size_t i = 0; i < diagonal.size(); ++i) diagonal[i] = std::max(diagonal[i] + damping[i], 1e-300);
  const Buffer<double> damping_on_device(device, all, damping), diagonal_on_device(device, all, diagonal);
  const auto apply = [&](const AnyBuffer &x, const AnyBuffer &y) {
    const Buffer<double> v(x), product(y);
    equations_.product(*at_, v, products_);
    equations_.transposed_product(*at_, products_, product);
    add_damping().launch({columns_.all}, product, v, damping_on_device);
  };
  const auto precondition = [&](const AnyBuffer &r, const AnyBuffer &z) {
    scaled_by_diagonal().launch({columns_.all}, Buffer<double>(z), Buffer<double>(r), diagonal_on_device);
  };
  const LinearOperator a(columns_.all, columns_.all, ScalarType::Float64, device, {.apply = apply, .symmetric = true});
  const Buffer<double> b(device, all, negative(at.gradient)), x(device, all);
  // An inexact step still descends, if it has not converged.
  conjugate_gradients(a, b, x,
                      {.tolerance = options_.inner_tolerance,
                       .iterations = std::max<std::int64_t>(500, columns_.all),
                       .preconditioner = {.apply = precondition}},
                      where_);
  return x.to_vector();
}

double StepFinder::squared_norm(const std::vector<Buffer<double>> &products) const {
  double sum = 0;
  for (const Buffer<double> &product : products) {
    if (product.count() == 0) continue;
    const Buffer<double> flat = product.reshape({product.count()});
    const VectorSpace space(problem_.device(), ScalarType::Float64, flat.count(), where_);
    sum += space.dot(flat, flat);
  }
  return sum;
}

const std::vector<Buffer<double>> &StepFinder::product(const std::vector<double> &v) {
  const Buffer<double> on_device(problem_.device(), {columns_.all}, v);
  equations_.product(*at_, on_device, products_);
  return products_;
}

double StepFinder::squared_product(const std::vector<double> &v) { return squared_norm(product(v)); }

}  // namespace samite::solvers::detail
