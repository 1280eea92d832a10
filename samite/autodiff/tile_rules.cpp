#include "samite/autodiff/tile_rules.h"

#include "samite/autodiff/rules.h"
#include "samite/autodiff/tile_algebra_rules.h"
#include "samite/autodiff/tile_scan_rules.h"

namespace samite::autodiff {

using namespace ir;

namespace {

class Rules {
 public:
  Rules(passes::Builder &builder, const Operation &operation) : build_(builder), operation_(operation) {}

  Value gradient(Value seed, std::size_t i) const {
    const Value &x = operation_.operands[i];
    switch (operation_.op) {
      case Op::Broadcast: return reduced(seed, x.type());
      case Op::Reshape: return build_.operation({Op::Reshape, x.type(), {seed}});
      case Op::Transpose: return build_.operation({Op::Transpose, x.type(), {seed}, 0, inverse_axes()});
      case Op::Window: return window_back(seed);
      case Op::Take: return put_back(seed, x.type());
      case Op::PutAdd: return build_.operation({Op::Take, x.type(), {seed, operation_.operands[1]}});
      case Op::Fourier:
        return build_.operation({Op::Fourier, x.type(), {seed}, 0, operation_.attribute ^ fourier_conjugate});
      case Op::MatMul: return i == 2 ? seed : factor_gradient(seed, i);
      case Op::ReduceAdd: return spread(seed);
      case Op::ReduceMul: return build_(Op::Mul, {spread(seed), product_of_others()});
      case Op::ReduceMin:
      case Op::ReduceMax: return build_.select(is_first(), spread(seed), Value::zero(x.type()));
      default: return Value::zero(x.type());
    }
  }

  // Sums the cotangents of all elements taken from one place. 16-bit types are summed in 32 bits.
  Value put_back(const Value &seed, const Type &type) const {
    const bool narrow = size_of(type.element()) < 4;
    const Type sums = narrow ? type.of(ScalarType::Float32) : type;
    const Value wide = narrow ? build_.cast(seed.type().of(ScalarType::Float32), seed) : seed;
    return build_.cast(type, build_.operation({Op::PutAdd, sums, {wide, operation_.operands[1]}}));
  }

  Value tangent(const std::vector<Value> &tangents) const {
    const Type from = operation_.operands[0].type();
    switch (operation_.op) {
      case Op::MatMul: return product_tangent(tangents);
      case Op::ReduceMul: return reduced(build_(Op::Mul, {tangents[0], product_of_others()}), operation_.type);
      case Op::ReduceMin:
      case Op::ReduceMax: return reduced(build_.select(is_first(), tangents[0], Value::zero(from)), operation_.type);
      default: {
        Operation linear = operation_;
        linear.operands[0] = tangents[0];
        linear.type = gradient_type(linear.type);
        return build_.operation(std::move(linear));
      }
    }
  }

 private:
  Value reduced(Value x, const Type &to) const {
    return x.type() == to ? x : build_.operation({Op::ReduceAdd, to, {x}});
  }
  // Broadcasts to the extents of the operand.
  Value spread(Value x) const {
    const Type to = operation_.operands[0].type().of(x.type().element());
    return x.type() == to ? x : build_.operation({Op::Broadcast, to, {x}});
  }

  std::int32_t inverse_axes() const {
    std::int32_t inverse = 0;
    for (int d = 0; d < operation_.type.shape().rank(); ++d) inverse |= d << (4 * tile_axis(operation_.attribute, d));
    return inverse;
  }

  Value window_back(Value seed) const {
    Operation back{Op::Window, operation_.operands[0].type(), {seed}};
    for (std::size_t i = 1; i < operation_.operands.size(); ++i)
      back.operands.push_back(build_(Op::Neg, {operation_.operands[i]}));
    return build_.operation(std::move(back));
  }

  Value product_of_others() const {
    const Value &x = operation_.operands[0];
    const Value zero = Value::zero(x.type()), one = Value::constant(x.type(), 1);
    const Value is_zero = build_(Op::Equal, {x, zero});
    const Type reduced_type = operation_.type;
    const Value zeros = spread(reduced(build_.select(is_zero, one, zero), reduced_type));
    const Value rest = spread(build_.operation({Op::ReduceMul, reduced_type, {build_.select(is_zero, one, x)}}));
    const Value of_zero = build_.select(build_(Op::Equal, {zeros, one}), rest, zero);
    const Value of_other = build_.select(build_(Op::Equal, {zeros, zero}), build_(Op::Div, {rest, x}), zero);
    return build_.select(is_zero, of_zero, of_other);
  }

  // For each element: whether it is the first one equal to the result of the reduction.
  Value is_first() const {
    const Type from = operation_.operands[0].type();
    const Op position = operation_.op == Op::ReduceMin ? Op::ReduceArgMin : Op::ReduceArgMax;
    const Value first = build_.operation({position, operation_.type.of(ScalarType::Int32), {operation_.operands[0]}});
    const Type integers = from.of(ScalarType::Int32);
    Value place = Value::zero(integers);
    std::int64_t stride = 1;
    for (int d = from.shape().rank() - 1; d >= 0; --d) {
      const bool together = !operation_.type.is_tile() || operation_.type.shape()[d] != from.shape()[d];
      if (!together) continue;
      const Value coordinate = build_.operation({Op::Coordinate, integers, {}, 0, d});
      place = build_(Op::Add, {place, build_(Op::Mul, {coordinate, Value::constant(integers, stride)})});
      stride *= from.shape()[d];
    }
    return build_(Op::Equal, {place, spread(first)});
  }

  // The gradients and tangents of 8-bit factors have the type of the sums, and the products are computed in it.
  Value factor(const Value &x) const { return build_.cast(gradient_type(x.type()), x); }

  // The gradient of factor A (i = 0) or B: with R the cotangent, R Bᵀ or Aᵀ R, or their transposes.
  Value factor_gradient(Value seed, std::size_t i) const {
    const Value a = factor(operation_.operands[0]), b = factor(operation_.operands[1]);
    const bool transposes_a = operation_.attribute & transposed_a, transposes_b = operation_.attribute & transposed_b;
    const Value r = build_.cast(seed.type().of(a.type().element()), seed);
    const Type to = i == 0 ? a.type() : b.type(), sum = to.of(seed.type().element());
    auto product = [&](const Value &left, bool transposes_left, const Value &right, bool transposes_right) {
      const std::int32_t attribute = (transposes_left ? transposed_a : 0) | (transposes_right ? transposed_b : 0) |
                                     (operation_.attribute & tf32_factors);
      return build_.cast(to, build_.operation({Op::MatMul, sum, {left, right, Value::zero(sum)}, 0, attribute}));
    };
    if (i == 0) return transposes_a ? product(b, transposes_b, r, true) : product(r, false, b, !transposes_b);
    return transposes_b ? product(r, true, a, transposes_a) : product(a, !transposes_a, r, false);
  }

  Value product_tangent(const std::vector<Value> &tangents) const {
    Operation first = operation_, second = operation_;
    first.operands[0] = factor(operation_.operands[0]);
    first.operands[1] = tangents[1], first.operands[2] = tangents[2];
    second.operands[0] = tangents[0];
    second.operands[1] = factor(operation_.operands[1]);
    second.operands[2] = build_.operation(std::move(first));
    return build_.operation(std::move(second));
  }

  passes::Builder &build_;
  const Operation &operation_;
};

}  // namespace

bool is_tile_operation(Op op) { return info(op).typing >= Typing::Coordinate; }

Value tile_gradient(passes::Builder &builder, const Operation &operation, Value result, Value seed, std::size_t i) {
  switch (info(operation.op).typing) {
    case Typing::Scan: return scan_gradient(builder, operation, result, seed, i);
    case Typing::Cholesky: return cholesky_gradient(builder, result, seed);
    case Typing::Solve: return solve_gradient(builder, operation, result, seed, i);
    default: return Rules(builder, operation).gradient(seed, i);
  }
}

Value tile_tangent(passes::Builder &builder, const Operation &operation, Value result,
                   const std::vector<Value> &tangents) {
  switch (info(operation.op).typing) {
    case Typing::Scan: return scan_tangent(builder, operation, result, tangents);
    case Typing::Cholesky: return cholesky_tangent(builder, result, tangents[0]);
    case Typing::Solve: return solve_tangent(builder, operation, result, tangents);
    default: return Rules(builder, operation).tangent(tangents);
  }
}

}  // namespace samite::autodiff
