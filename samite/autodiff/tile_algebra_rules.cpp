#include "samite/autodiff/tile_algebra_rules.h"

namespace samite::autodiff {
namespace {

using namespace ir;

class Matrices {
 public:
  explicit Matrices(passes::Builder &builder) : build_(builder) {}

  Value product(const Value &a, bool transposes_a, const Value &b, bool transposes_b, const Type &type) const {
    const std::int32_t attribute = (transposes_a ? transposed_a : 0) | (transposes_b ? transposed_b : 0);
    return build_.operation({Op::MatMul, type, {a, b, Value::zero(type)}, 0, attribute});
  }

  Value solve(const Value &a, const Value &b, std::int32_t attribute) const {
    return build_.operation({Op::TriangularSolve, b.type(), {a, b}, 0, attribute});
  }

  Value transposed(const Value &x) const {
    const int rank = x.type().shape().rank();
    std::int32_t axes = 0;
    for (int d = 0; d < rank; ++d) axes |= (d < rank - 2 ? d : 2 * rank - 3 - d) << (4 * d);
    return build_.operation({Op::Transpose, x.type(), {x}, 0, axes});
  }

  // The elements on one side of the diagonal, times `diagonal` on it.
  Value half(const Value &x, bool upper, double diagonal) const {
    const Type &type = x.type(), integers = type.of(ScalarType::Int32);
    const int rank = type.shape().rank();
    const Value row = build_.operation({Op::Coordinate, integers, {}, 0, rank - 2});
    const Value column = build_.operation({Op::Coordinate, integers, {}, 0, rank - 1});
    const Value side = build_(upper ? Op::Less : Op::Greater, {row, column});
    const Value on = build_(Op::Mul, {x, Value::constant(type, diagonal)});
    const Value rest = build_.select(build_(Op::Equal, {row, column}), on, Value::zero(type));
    return build_.select(side, x, rest);
  }
  Value lower_half(const Value &x) const { return half(x, false, 0.5); }

 private:
  passes::Builder &build_;
};

}  // namespace

Value cholesky_gradient(passes::Builder &builder, Value factor, Value seed) {
  const Matrices m(builder);
  const Value p = m.lower_half(m.product(factor, true, seed, false, factor.type()));
  const Value symmetric = builder(Op::Add, {p, m.transposed(p)});
  const Value left = m.solve(factor, symmetric, solve_transposed);
  return m.lower_half(m.solve(factor, m.transposed(left), solve_transposed));
}

Value cholesky_tangent(passes::Builder &builder, Value factor, Value tangent) {
  const Matrices m(builder);
  const Value lower = m.lower_half(tangent);
  const Value symmetric = builder(Op::Add, {lower, m.transposed(lower)});
  const Value left = m.solve(factor, symmetric, 0);
  const Value middle = m.lower_half(m.solve(factor, m.transposed(left), 0));
  return m.product(factor, false, middle, false, factor.type());
}

Value solve_gradient(passes::Builder &builder, const Operation &solve, Value result, Value seed, std::size_t i) {
  const Matrices m(builder);
  const Value &a = solve.operands[0];
  const bool transposed = solve.attribute & solve_transposed;
  const Value of_right = m.solve(a, seed, solve.attribute ^ solve_transposed);
  if (i == 1) return of_right;
  const Value of_left = transposed ? m.product(result, false, of_right, true, a.type())
                                   : m.product(of_right, false, result, true, a.type());
  return m.half(builder(Op::Neg, {of_left}), solve.attribute & solve_upper, 1);
}

Value solve_tangent(passes::Builder &builder, const Operation &solve, Value result,
                    const std::vector<Value> &tangents) {
  const Matrices m(builder);
  const Value moved = m.half(tangents[0], solve.attribute & solve_upper, 1);
  const Value product = m.product(moved, solve.attribute & solve_transposed, result, false, result.type());
  return m.solve(solve.operands[0], builder(Op::Sub, {tangents[1], product}), solve.attribute);
}

}  // namespace samite::autodiff
