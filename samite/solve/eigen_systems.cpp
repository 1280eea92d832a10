#include "samite/solve/eigen_systems.h"

#include <Eigen/Cholesky>
#include <Eigen/QR>
#include <Eigen/SparseCholesky>
#include <cmath>

namespace samite::solvers::detail {
namespace {

using Vector = Eigen::VectorXd;
using RowMajor = Eigen::Matrix<double, Eigen::Dynamic, Eigen::Dynamic, Eigen::RowMajor>;
using Sparse = Eigen::SparseMatrix<double>;

// Dense if a third of the lower triangle is stored, up to 8192 rows: elimination fills most of the rest.
constexpr std::int64_t most_dense_rows = 8192;

// Calls f(row, column, number of the value) for each number of the lower triangle.
template <class F>
void each_number(std::span<const LowerBlocks> all, const F &f) {
  for (const LowerBlocks &blocks : all) {
    const auto each = static_cast<std::size_t>(blocks.rows) * static_cast<std::size_t>(blocks.columns);
    for (std::size_t k = 0; k < blocks.row_offsets.size(); ++k) {
      const bool diagonal = blocks.row_offsets[k] == blocks.column_offsets[k];
      for (int i = 0; i < blocks.rows; ++i)
        for (int j = 0; j < (diagonal ? i + 1 : blocks.columns); ++j)
          f(blocks.row_offsets[k] + i, blocks.column_offsets[k] + j, blocks,
            k * each + static_cast<std::size_t>(i) * static_cast<std::size_t>(blocks.columns) +
                static_cast<std::size_t>(j));
    }
  }
}

Eigen::Map<const Vector> view(std::span<const double> numbers) {
  return {numbers.data(), static_cast<Eigen::Index>(numbers.size())};
}

Eigen::Map<const RowMajor> view(const TallMatrix &a) {
  return {a.values.data(), static_cast<Eigen::Index>(a.rows), static_cast<Eigen::Index>(a.columns)};
}

std::vector<double> numbers_of(const Vector &x) { return {x.begin(), x.end()}; }

}  // namespace

struct SymmetricSystem::Factors {
  bool dense = false;
  Eigen::MatrixXd matrix;
  Eigen::LLT<Eigen::MatrixXd> llt;

  Sparse sparse;                    // the lower triangle
  std::vector<std::size_t> places;  // of each number in its values, and then of the diagonal
  Eigen::SimplicialLDLT<Sparse> ldlt;
};

SymmetricSystem::SymmetricSystem(std::int64_t size, std::span<const LowerBlocks> blocks)
    : factors_(std::make_unique<Factors>()) {
  double stored = 0;
  for (const LowerBlocks &group : blocks)
    stored += static_cast<double>(group.row_offsets.size()) * group.rows * group.columns;
  const auto n = static_cast<Eigen::Index>(size);
  const double half = 0.5 * static_cast<double>(size) * static_cast<double>(size);
  factors_->dense = size <= 64 || (size <= most_dense_rows && stored > half / 3);
  if (factors_->dense) {
    factors_->matrix.resize(n, n);
    return;
  }
  std::vector<Eigen::Triplet<double>> triplets;
  triplets.reserve(static_cast<std::size_t>(stored) + static_cast<std::size_t>(size));
  each_number(blocks, [&](std::int32_t i, std::int32_t j, const LowerBlocks &, std::size_t) {
    triplets.emplace_back(i, j, 0.0);
  });
  for (std::int32_t i = 0; i < size; ++i) triplets.emplace_back(i, i, 0.0);
  Sparse &sparse = factors_->sparse;
  sparse.resize(n, n);
  sparse.setFromTriplets(triplets.begin(), triplets.end());
  for (const auto &triplet : triplets)
    factors_->places.push_back(
        static_cast<std::size_t>(&sparse.coeffRef(triplet.row(), triplet.col()) - sparse.valuePtr()));
  factors_->ldlt.analyzePattern(sparse);
}

SymmetricSystem::~SymmetricSystem() = default;

bool SymmetricSystem::is_dense() const { return factors_->dense; }

bool SymmetricSystem::factor(std::span<const LowerBlocks> blocks, std::span<const double> damping) {
  Factors &of = *factors_;
  const auto size = static_cast<Eigen::Index>(damping.size());
  if (of.dense) {
    of.matrix.setZero();
    each_number(blocks, [&](std::int32_t i, std::int32_t j, const LowerBlocks &group, std::size_t k) {
      of.matrix(i, j) += group.values[k];
    });
    of.matrix.diagonal() += view(damping);
    of.llt.compute(of.matrix);
    return of.llt.info() == Eigen::Success && of.llt.matrixLLT().diagonal().allFinite();
  }
  double *const values = of.sparse.valuePtr();
  std::fill(values, values + of.sparse.nonZeros(), 0.0);
  std::size_t next = 0;
  each_number(blocks, [&](std::int32_t, std::int32_t, const LowerBlocks &group, std::size_t k) {
    values[of.places[next++]] += group.values[k];
  });
  for (Eigen::Index i = 0; i < size; ++i) values[of.places[next++]] += damping[static_cast<std::size_t>(i)];
  of.ldlt.factorize(of.sparse);
  return of.ldlt.info() == Eigen::Success && of.ldlt.vectorD().minCoeff() > 0 && of.ldlt.vectorD().allFinite();
}

std::vector<double> SymmetricSystem::solve(std::span<const double> b) const {
  return numbers_of(factors_->dense ? Vector(factors_->llt.solve(view(b))) : Vector(factors_->ldlt.solve(view(b))));
}

std::vector<double> least_squares_by_qr(const TallMatrix &a, std::span<const double> b,
                                        std::span<const double> damping) {
  const auto rows = static_cast<Eigen::Index>(a.rows), columns = static_cast<Eigen::Index>(a.columns);
  Eigen::MatrixXd all = Eigen::MatrixXd::Zero(rows + columns, columns);
  Vector right = Vector::Zero(rows + columns);
  all.topRows(rows) = view(a);
  right.head(rows) = view(b);
  for (Eigen::Index i = 0; i < columns; ++i) all(rows + i, i) = std::sqrt(damping[static_cast<std::size_t>(i)]);
  return numbers_of(all.householderQr().solve(right));
}

std::vector<double> inverse_of_normal_matrix(const TallMatrix &a) {
  // Columns of length one, so that the rank does not depend on the units of the parameters.
  Eigen::MatrixXd scaled = view(a);
  Vector lengths(scaled.cols());
  for (Eigen::Index j = 0; j < scaled.cols(); ++j) {
    lengths[j] = scaled.col(j).norm();
    if (!(lengths[j] > 0) || !std::isfinite(lengths[j])) return {};
    scaled.col(j) /= lengths[j];
  }
  const Eigen::ColPivHouseholderQR<Eigen::MatrixXd> qr(scaled);
  const Eigen::Index n = scaled.cols();
  if (scaled.rows() < n || qr.rank() < n) return {};
  const Eigen::MatrixXd upper = qr.matrixR().topLeftCorner(n, n).triangularView<Eigen::Upper>();
  const Eigen::MatrixXd inverse = upper.triangularView<Eigen::Upper>().solve(Eigen::MatrixXd::Identity(n, n));
  const Eigen::MatrixXd permuted = qr.colsPermutation() * inverse;
  RowMajor product = permuted * permuted.transpose();
  for (Eigen::Index i = 0; i < n; ++i)
    for (Eigen::Index j = 0; j < n; ++j) product(i, j) /= lengths[i] * lengths[j];
  return {product.data(), product.data() + product.size()};
}

}  // namespace samite::solvers::detail
