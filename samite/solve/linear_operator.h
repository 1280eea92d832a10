// A linear operator y = A x, which a solver applies: a sparse matrix, or functions of the program.
//
//   LinearOperator a = matrix;
//   LinearOperator smooth(n, n, ScalarType::Float64, device,
//                         {.apply = [&](const AnyBuffer &x, const AnyBuffer &y) { stencil.launch({n}, y, x, k); },
//                          .parameters = {k}});
//
// The functions overwrite y (rows), and read x (columns) and whatever else they like; what gradients shall go to is
// among `parameters`. A solver's gradient needs products with the transpose and gradients of the parameters. They are
// derived from `apply` by a tape, if that only launches kernels and copies arrays; or given. A solver's `backward`
// refuses an operator that reads another array that tracks a gradient, which would be lost.
#pragma once

#include "samite/solve/sparse_matrix.h"

#include <functional>
#include <span>
#include <vector>

namespace samite::solvers {

struct OperatorFunctions {
  std::function<void(const AnyBuffer &x, const AnyBuffer &y)> apply;
  // y = transpose(A) x. Without it, the adjoint of `apply`.
  std::function<void(const AnyBuffer &x, const AnyBuffer &y)> apply_transposed = {};
  std::vector<AnyBuffer> parameters = {};
  // Adds scale times the gradient of y * (A x) to those of the parameters. Without it, the adjoint of `apply`.
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
  // Arrays that gradients go to: the values of a matrix.
  const std::vector<AnyBuffer> &parameters() const { return functions_.parameters; }
  const SparseMatrix *matrix() const { return matrix_ ? &*matrix_ : nullptr; }

  void apply(const AnyBuffer &x, const AnyBuffer &y) const { functions_.apply(x, y); }
  LinearOperator transposed() const;
  // The same with kept values of its parameters. UserError if these have been overwritten, unless it is a matrix.
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
