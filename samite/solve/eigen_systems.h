// Linear systems that the host solves with Eigen, for the steps of least squares.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace samite::solvers::detail {

// Blocks of the lower triangle of a symmetric matrix: of `rows` x `columns` numbers in row-major order, one after
// another in `values`. A block on the diagonal is whole.
struct LowerBlocks {
  int rows, columns;
  std::vector<std::int32_t> row_offsets, column_offsets;
  std::vector<double> values;
};

// (A + diag(damping)) x = b, by LLT of a dense matrix, or by LDLT of a sparse one, which keeps its order of
// elimination.
class SymmetricSystem {
 public:
  // The pattern; values are not read.
  SymmetricSystem(std::int64_t size, std::span<const LowerBlocks> blocks);
  ~SymmetricSystem();

  // False if the matrix is not positive definite, or not finite; solving is then impossible.
  bool factor(std::span<const LowerBlocks> blocks, std::span<const double> damping);
  std::vector<double> solve(std::span<const double> b) const;
  bool is_dense() const;

 private:
  struct Factors;
  std::unique_ptr<Factors> factors_;
};

// A matrix with more rows than columns, in row-major order.
struct TallMatrix {
  std::int64_t rows, columns;
  std::vector<double> values;
};
// The x that minimises |A x - b|^2 + the sum of damping[i] x[i]^2, by Householder's QR.
std::vector<double> least_squares_by_qr(const TallMatrix &a, std::span<const double> b,
                                        std::span<const double> damping);
// The inverse of transpose(A) A in row-major order, by QR with column pivoting; empty if A is rank-deficient.
std::vector<double> inverse_of_normal_matrix(const TallMatrix &a);

}  // namespace samite::solvers::detail
