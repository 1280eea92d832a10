// A linear operator y = A x, which a solver applies: a sparse matrix, or functions of the program.
//
//   LinearOperator a = matrix;
//   LinearOperator smooth(n, n, ScalarType::Float64, device,
//                         {.apply = [&](const AnyBuffer &x, const AnyBuffer &y) { stencil.launch({n}, y, x, k); },
//                          .parameters = {k}});
//
// The functions overwrite y (rows), and may read x (columns) and anything else; arrays that need gradients must be
// among `parameters`. A solver's gradient needs products with the transpose and gradients of the parameters. A tape
// derives them from `apply`, if `apply` only launches kernels and copies arrays; otherwise they must be given. A
// solver's `backward` refuses an operator that reads another array with a tracked gradient, because that gradient would
// be lost.
#pragma once

#include "samite/solve/sparse_matrix.h"

#include <functional>
#include <span>
#include <vector>

namespace samite::solvers {

struct OperatorFunctions {
  std::function<void(const AnyBuffer &x, const AnyBuffer &y)> apply;
  // y = transpose(A) x. Default: the adjoint of `apply`.
  std::function<void(const AnyBuffer &x, const AnyBuffer &y)> apply_transposed = {};
  std::vector<AnyBuffer> parameters = {};
  // Adds scale times the gradient of y * (A x) to those of the parameters. Default: the adjoint of `apply`.
  std::function<void(double scale, const AnyBuffer &y, const AnyBuffer &x)> add_gradient = {};
  bool symmetric = false;  // `apply` is its own transpose
};

class LinearOperator {
 public:
  LinearOperator(const SparseMatrix &matrix, SourceLocation where = std::source_location::current());
  // UserError without `apply`, or for a type that is not f32 or f64.
  LinearOperator(std::int64_t rows, std::int64_t columns, ScalarType type, Device device, OperatorFunctions functions,
                 SourceLocation where = std::source_location::current());

  std::int64_t rows() const { return rows_; }
  std::int64_t columns() const { return columns_; }
  ScalarType type() const { return type_; }
  Device device() const { return device_; }
  // Arrays that gradients go to; for a matrix, its values.
  const std::vector<AnyBuffer> &parameters() const { return functions_.parameters; }
  const SparseMatrix *matrix() const { return matrix_ ? &*matrix_ : nullptr; }

  void apply(const AnyBuffer &x, const AnyBuffer &y) const { functions_.apply(x, y); }
  LinearOperator transposed() const;
  // The same operator with saved values of its parameters. UserError if these have been overwritten, unless it is a
  // matrix.
  LinearOperator with_parameters(std::span<const AnyBuffer> values, SourceLocation where) const;
  // Adds scale times the gradient of y * (A x) to those of the parameters that track one.
  void add_gradient(double scale, const AnyBuffer &y, const AnyBuffer &x) const;

 private:
  std::int64_t rows_, columns_;
  ScalarType type_;
  Device device_;
  OperatorFunctions functions_;
  std::optional<SparseMatrix> matrix_;
  SourceLocation where_;
};

}  // namespace samite::solvers
