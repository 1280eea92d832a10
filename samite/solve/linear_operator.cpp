#include "samite/solve/linear_operator.h"

#include "samite/base/error.h"
#include "samite/jit/tape.h"
#include "samite/jit/tape_access.h"
#include "samite/solve/kernel_types.h"
#include "samite/solve/vector_space.h"

#include <algorithm>

namespace samite::solvers {
namespace {

OperatorFunctions functions_of(const SparseMatrix &matrix) {
  return {.apply = [matrix](const AnyBuffer &x, const AnyBuffer &y) { multiply(matrix, x, y); },
          .apply_transposed = [matrix](const AnyBuffer &x, const AnyBuffer &y) { multiply_transposed(matrix, x, y); },
          .parameters = {matrix.values()}};
}

// A tape over one product. UserError if gradients would go to arrays that the operator does not name.
void record_product(Tape &tape, const OperatorFunctions &functions, const AnyBuffer &x, const AnyBuffer &y,
                    SourceLocation where) {
  tape.record([&] { functions.apply(x, y); });
  for (const AnyBuffer &input : jit::TapeAccess::tracked_inputs(tape)) {
    const auto is_input = [&](const AnyBuffer &known) { return known.storage() == input.storage(); };
    if (!is_input(x) && !is_input(y) && std::ranges::none_of(functions.parameters, is_input))
      throw UserError(where, "a linear operator reads " +
                                 (input.name().empty() ? input.to_string() : "'" + input.name() + "'") +
                                 ", which tracks a gradient and is not among its parameters, so that its gradient "
                                 "would be lost; add it to OperatorFunctions::parameters");
  }
}

// Restores the gradients of parameters: products with the transpose must not change them.
class Transposition {
 public:
  Transposition(std::int64_t rows, std::int64_t columns, ScalarType type, Device device,
                const OperatorFunctions &functions, SourceLocation where)
      : x_(device, type, {columns}, Gradient::tracked), y_(device, type, {rows}, Gradient::tracked) {
    for (const AnyBuffer &parameter : functions.parameters)
      if (parameter.tracks_gradient()) kept_.push_back({parameter, {}});
    record_product(tape_, functions, x_, y_, where);
  }

  void operator()(const AnyBuffer &x, const AnyBuffer &y) {
    for (Kept &one : kept_) one.gradient = one.parameter.gradient().clone();
    x_.zero_gradient();
    tape_.backward({{y_, x}});
    AnyBuffer(y).copy_from(x_.gradient());
    for (Kept &one : kept_) one.parameter.gradient().copy_from(one.gradient);
  }

 private:
  struct Kept {
    AnyBuffer parameter, gradient;
  };
  AnyBuffer x_, y_;
  std::vector<Kept> kept_;
  Tape tape_;
};

}  // namespace

LinearOperator::LinearOperator(const SparseMatrix &matrix, SourceLocation where)
    : rows_((matrix.pattern(where), matrix.rows())),
      columns_(matrix.columns()),
      type_(matrix.type()),
      device_(matrix.device()),
      functions_(functions_of(matrix)),
      matrix_(matrix),
      where_(where) {}

LinearOperator::LinearOperator(std::int64_t rows, std::int64_t columns, ScalarType type, Device device,
                               OperatorFunctions functions, SourceLocation where)
    : rows_(rows), columns_(columns), type_(type), device_(device), functions_(std::move(functions)), where_(where) {
  if (!functions_.apply) throw UserError(where, "a linear operator needs a function that applies it");
  if (rows < 0 || columns < 0)
    throw UserError(where, "a linear operator of " + std::to_string(rows) + " x " + std::to_string(columns) +
                               ": no extent may be negative");
  detail::with_floating_type(type, "numbers of a linear operator", where, [](auto) {});
}

LinearOperator LinearOperator::transposed() const {
  LinearOperator other = *this;
  std::swap(other.rows_, other.columns_);
  if (matrix_ || functions_.apply_transposed) {
    std::swap(other.functions_.apply, other.functions_.apply_transposed);
    other.matrix_.reset();
  } else if (!functions_.symmetric) {
    auto transposition = std::make_shared<Transposition>(rows_, columns_, type_, device_, functions_, where_);
    other.functions_.apply_transposed = functions_.apply;
    other.functions_.apply = [transposition](const AnyBuffer &x, const AnyBuffer &y) { (*transposition)(x, y); };
  }
  return other;
}

LinearOperator LinearOperator::with_parameters(std::span<const AnyBuffer> values, SourceLocation where) const {
  if (matrix_) return {matrix_->with_values(values[0], where), where};
  for (std::size_t i = 0; i < functions_.parameters.size(); ++i)
    if (functions_.parameters[i].data() != values[i].data())
      throw UserError(where, "parameter " + std::to_string(i) + " of a linear operator, " +
                                 functions_.parameters[i].to_string() +
                                 ", was overwritten after the solve, and the gradient applies the operator as it was; "
                                 "write the new values to another array");
  return *this;
}

void LinearOperator::add_gradient(double scale, const AnyBuffer &y, const AnyBuffer &x) const {
  const auto tracks = [](const AnyBuffer &parameter) { return parameter.tracks_gradient(); };
  const bool any = std::ranges::any_of(functions_.parameters, tracks);
  if (matrix_) {
    if (any) add_outer_product(*matrix_, scale, y, x, matrix_->values().gradient());
    return;
  }
  if (functions_.add_gradient) return functions_.add_gradient(scale, y, x);
  const AnyBuffer result(device_, type_, {rows_}, Gradient::tracked), cotangent(device_, type_, {rows_});
  detail::VectorSpace(device_, type_, rows_, {}).combine(scale, y, 0, cotangent);
  Tape tape;
  record_product(tape, functions_, x.clone(), result, where_);
  if (any) tape.backward({{result, cotangent}});
}

}  // namespace samite::solvers
