#include "samite/autodiff/rules.h"

#include "samite/base/error.h"

#include <limits>
#include <numbers>

namespace samite::autodiff {
namespace {

using namespace ir;

// The inputs of a rule: the operands x and y, the result r, and arithmetic on them.
struct Context {
  passes::Builder &builder;
  const std::vector<Value> &operands;
  Value x, y, r;

  bool is_wide() const { return r.type().element() == ScalarType::Float64; }
  Value number(double value) const { return Value::constant(r.type(), value); }
  // One of two constants, for a type of 64 bits or of 32.
  Value number(double wide, double narrow) const { return number(is_wide() ? wide : narrow); }
  Value add(Value a, Value b) const { return builder(Op::Add, {a, b}); }
  Value sub(Value a, Value b) const { return builder(Op::Sub, {a, b}); }
  Value mul(Value a, Value b) const { return builder(Op::Mul, {a, b}); }
  Value div(Value a, Value b) const { return builder(Op::Div, {a, b}); }
  Value neg(Value a) const { return builder(Op::Neg, {a}); }
  Value square(Value a) const { return mul(a, a); }
  Value inverse(Value a) const { return div(number(1), a); }
  Value call(Op op, Value a) const { return builder(op, {a}); }
  Value call(Op op, Value a, Value b) const { return builder(op, {a, b}); }
  Value select(Value condition, Value a, Value b) const { return builder.select(condition, a, b); }
};

using Partials = std::vector<Partial>;
using Rule = Partials (*)(const Context &);

Partial one() { return {Partial::Kind::One}; }
Partial minus_one() { return {Partial::Kind::MinusOne}; }
Partial zero() { return {}; }
Partial scale(Value value) { return {Partial::Kind::Scale, value}; }
Partial twice(Value value) { return {Partial::Kind::Twice, value}; }
Partial gate(Value condition) { return {Partial::Kind::Gate, condition}; }
// A scale that may be infinite or NaN for finite operands.
Partial unbounded(Value value, double coefficient = 1) { return {Partial::Kind::Scale, value, coefficient, true}; }

// min and max return the other operand if one is NaN; the derivative goes to that operand, too.
Partials pick(const Context &c, Op order) {
  Value first = c.call(Op::Or, c.call(order, c.x, c.y), c.call(Op::NotEqual, c.y, c.y));
  return {gate(first), gate(c.call(Op::Not, first))};
}

Value sign(const Context &c, Value a) {
  Value below = c.select(c.call(Op::Less, a, c.number(0)), c.number(-1), c.number(0));
  return c.select(c.call(Op::Greater, a, c.number(0)), c.number(1), below);
}

// 1 / y and -r / y by one division, valid even if 1 / y overflows and r / y does not.
Partials quotient_derivatives(const Context &c) {
  if (c.y.is_constant()) {
    const Value inverse = c.inverse(c.y);
    return {unbounded(inverse), unbounded(c.neg(c.mul(c.r, inverse)))};
  }
  const Value tiny = c.call(Op::Less, c.call(Op::Abs, c.y), c.number(0x1p-1000, 0x1p-100));
  const Value power = c.select(tiny, c.number(0x1p600, 0x1p90), c.number(1));
  const Value inverse = c.inverse(c.mul(c.y, power));
  return {unbounded(c.mul(inverse, power)), unbounded(c.neg(c.mul(c.mul(c.r, inverse), power)))};
}

// Powers of two that scale numbers of magnitude `most` so that their squares and quotients are in range: one for small
// numbers, one for large ones, and 1 for all others.
struct Powers {
  Value grow, shrink;
};
Powers powers_for(const Context &c, Value most) {
  const Value large = c.call(Op::Greater, most, c.number(0x1p500, 0x1p60));
  const Value small = c.call(Op::Less, most, c.number(0x1p-480, 0x1p-50));
  return {c.select(small, c.number(0x1p600, 0x1p90), c.number(1)),
          c.select(large, c.number(0x1p-600, 0x1p-80), c.number(1))};
}

// 1 - x² as (1 - x) (1 + x): rounding the square would lose digits near 1.
Value one_minus_square(const Context &c, Value x) { return c.mul(c.sub(c.number(1), x), c.add(c.number(1), x)); }

// 1 / (1 + x²), by 1 / x beyond 1.
Value inverse_of_square_and_one(const Context &c) {
  const Value beyond = c.call(Op::Greater, c.call(Op::Abs, c.x), c.number(1));
  const Value ratio = c.select(beyond, c.inverse(c.x), c.x), square = c.square(ratio);
  return c.div(c.select(beyond, square, c.number(1)), c.add(c.number(1), square));
}

// 1 / sqrt(x² + added), where `square` is x² + added, for an x at which `added` still affects the last digit.
Value inverse_root(const Context &c, Value square) {
  const Value size = c.call(Op::Abs, c.x);
  const Value root = c.select(c.call(Op::Greater, size, c.number(0x1p30, 0x1p14)), size, c.call(Op::Sqrt, square));
  return c.inverse(root);
}

// 1 / cosh(x)² = 4 e / (1 + e)² with e = exp(-2 |x|): 1 - tanh(x)² loses all digits if tanh(x) is close to 1.
Value square_of_secant(const Context &c) {
  const Value e = c.call(Op::Exp, c.mul(c.call(Op::Abs, c.x), c.number(-2)));
  return c.div(c.mul(e, c.number(4)), c.square(c.add(c.number(1), e)));
}

// exp(-x²), corrected for the rounding of x²: its relative error times x² would be the result's relative error.
Value gaussian(const Context &c) {
  const Value size = c.call(Op::Abs, c.x), far = c.number(40);  // a distance at which it is zero in every type
  const Value near = c.select(c.call(Op::Greater, size, far), far, size), square = c.square(near);
  const Value rest = c.builder(Op::Fma, {near, near, c.neg(square)}), power = c.call(Op::Exp, c.neg(square));
  return c.sub(power, c.mul(power, rest));
}

Partials angle_derivatives(const Context &c) {
  const Value most = c.call(Op::Max, c.call(Op::Abs, c.x), c.call(Op::Abs, c.y));
  const auto [grow, shrink] = powers_for(c, most);
  const Value power = c.mul(grow, shrink), x = c.mul(c.x, power), y = c.mul(c.y, power);
  const Value inverse = c.inverse(c.add(c.square(x), c.square(y)));
  const Value infinite = c.call(Op::Equal, most, c.number(std::numeric_limits<double>::infinity()));
  const auto of = [&](Value a) { return unbounded(c.select(infinite, c.number(0), c.mul(c.mul(a, inverse), power))); };
  return {of(y), of(c.neg(x))};
}

// Each operand divided by the result, the root of the sum of their squares; 0 if all are zero.
Partials directions(const Context &c) {
  const auto [grow, shrink] = powers_for(c, c.r);
  const Value is_zero = c.call(Op::Equal, c.r, c.number(0));
  const Value inverse = c.select(is_zero, c.number(0), c.inverse(c.mul(c.mul(c.r, grow), shrink)));
  Partials all;
  for (const Value &operand : c.operands) all.push_back(scale(c.mul(c.mul(c.mul(operand, grow), inverse), shrink)));
  return all;
}

// The derivative of the zeroth power is zero, also at zero, where x⁻¹ is not finite and is not computed.
Partial power_derivative(const Context &c) {
  if (c.y.is_constant(0)) return zero();
  if (c.y.is_constant(1)) return one();
  Value x = c.x;
  if (!c.y.is_constant()) x = c.select(c.call(Op::Equal, c.y, c.number(0)), c.number(1), x);
  const Value power = c.call(Op::Pow, x, c.sub(c.y, c.number(1)));
  if (c.y.is_constant()) return unbounded(c.mul(c.y, power));
  // If x and y are small, their quotient has the range that the power lacks.
  const Value infinity = c.number(std::numeric_limits<double>::infinity());
  const Value overflows =
      c.call(Op::And, c.call(Op::Equal, c.call(Op::Abs, power), infinity), c.call(Op::NotEqual, x, c.number(0)));
  return unbounded(c.select(overflows, c.mul(c.div(c.y, x), c.r), c.mul(c.y, power)));
}

Partial exponent_derivative(const Context &c) {
  const Value at_zero = c.call(Op::Or, c.call(Op::Equal, c.x, c.number(0)), c.call(Op::Equal, c.r, c.number(0)));
  return unbounded(c.select(at_zero, c.number(0), c.mul(c.r, c.call(Op::Log, c.x))));
}

// The quotient of both operands, as an integer: the remainder is exact, and so is the first operand without it, up to
// less than half of the second.
Value times_in(const Context &c) { return c.call(Op::Round, c.div(c.sub(c.x, c.r), c.y)); }

// The derivative of digamma: 1 / x² + … of ten numbers, and an asymptotic series for the rest. By reflection if x is
// not positive.
Value trigamma(const Context &c) {
  const Value reflected = c.call(Op::LessEqual, c.x, c.number(0));
  Value at = c.select(reflected, c.sub(c.number(1), c.x), c.x), sum = c.number(0);
  for (int k = 0; k < 10; ++k) {
    sum = c.add(sum, c.square(c.inverse(at)));
    at = c.add(at, c.number(1));
  }
  const Value r = c.inverse(at), q = c.square(r);
  Value series = c.number(-3617.0 / 510);
  for (double coefficient : {7.0 / 6, -691.0 / 2730, 5.0 / 66, -1.0 / 30, 1.0 / 42, -1.0 / 30, 1.0 / 6})
    series = c.add(c.number(coefficient), c.mul(q, series));
  sum = c.add(sum, c.mul(r, c.add(c.add(c.number(1), c.mul(r, c.number(0.5))), c.mul(q, series))));
  const Value rest = c.sub(c.x, c.call(Op::Round, c.x));
  const Value sine = c.call(Op::Sin, c.mul(rest, c.number(std::numbers::pi)));
  const Value mirror = c.square(c.div(c.number(std::numbers::pi), c.select(reflected, sine, c.number(1))));
  return c.select(reflected, c.sub(mirror, sum), sum);
}

constexpr double two_over_sqrt_pi = 2 * std::numbers::inv_sqrtpi;

struct Row {
  Op op;
  Rule rule;
};

const Row rows[] = {
    {Op::Copy, [](const Context &) -> Partials { return {one()}; }},
    {Op::Cast, [](const Context &) -> Partials { return {one()}; }},
    {Op::BitCast, [](const Context &) -> Partials { return {zero()}; }},
    {Op::Select, [](const Context &c) -> Partials { return {zero(), gate(c.x), gate(c.call(Op::Not, c.x))}; }},
    {Op::Neg, [](const Context &) -> Partials { return {minus_one()}; }},
    {Op::Add, [](const Context &) -> Partials { return {one(), one()}; }},
    {Op::Sub, [](const Context &) -> Partials { return {one(), minus_one()}; }},
    {Op::Mul,
     [](const Context &c) -> Partials {
       if (c.x == c.y) return {twice(c.x), zero()};
       return {scale(c.y), scale(c.x)};
     }},
    {Op::Fma,
     [](const Context &c) -> Partials {
       if (c.x == c.y) return {twice(c.x), zero(), one()};
       return {scale(c.y), scale(c.x), one()};
     }},
    {Op::Div, quotient_derivatives},
    {Op::Min, [](const Context &c) -> Partials { return pick(c, Op::LessEqual); }},
    {Op::Max, [](const Context &c) -> Partials { return pick(c, Op::GreaterEqual); }},
    {Op::Abs, [](const Context &c) -> Partials { return {scale(sign(c, c.x))}; }},
    {Op::Sqrt, [](const Context &c) -> Partials { return {unbounded(c.inverse(c.r), 0.5)}; }},
    {Op::Rsqrt,
     [](const Context &c) -> Partials { return {unbounded(c.mul(c.square(c.r), c.mul(c.r, c.number(-0.5))))}; }},
    {Op::Cbrt, [](const Context &c) -> Partials { return {unbounded(c.inverse(c.mul(c.number(3), c.square(c.r))))}; }},
    {Op::Exp, [](const Context &c) -> Partials { return {unbounded(c.r)}; }},
    {Op::Exp2, [](const Context &c) -> Partials { return {unbounded(c.mul(c.r, c.number(std::numbers::ln2)))}; }},
    {Op::FastExp2, [](const Context &c) -> Partials { return {unbounded(c.mul(c.r, c.number(std::numbers::ln2)))}; }},
    {Op::Expm1, [](const Context &c) -> Partials { return {unbounded(c.call(Op::Exp, c.x))}; }},
    {Op::Log, [](const Context &c) -> Partials { return {unbounded(c.inverse(c.x))}; }},
    {Op::Log2, [](const Context &c) -> Partials { return {unbounded(c.div(c.number(std::numbers::log2e), c.x))}; }},
    {Op::Log10, [](const Context &c) -> Partials { return {unbounded(c.div(c.number(std::numbers::log10e), c.x))}; }},
    {Op::Log1p, [](const Context &c) -> Partials { return {unbounded(c.inverse(c.add(c.number(1), c.x)))}; }},
    {Op::Sin, [](const Context &c) -> Partials { return {scale(c.call(Op::Cos, c.x))}; }},
    {Op::Cos, [](const Context &c) -> Partials { return {scale(c.neg(c.call(Op::Sin, c.x)))}; }},
    {Op::Tan, [](const Context &c) -> Partials { return {unbounded(c.add(c.number(1), c.square(c.r)))}; }},
    {Op::Asin, [](const Context &c) -> Partials { return {unbounded(c.call(Op::Rsqrt, one_minus_square(c, c.x)))}; }},
    {Op::Acos,
     [](const Context &c) -> Partials { return {unbounded(c.neg(c.call(Op::Rsqrt, one_minus_square(c, c.x))))}; }},
    {Op::Atan, [](const Context &c) -> Partials { return {scale(inverse_of_square_and_one(c))}; }},
    {Op::Atan2, angle_derivatives},  // atan2(x, y): the angle whose sine is x's and cosine y's
    {Op::Sinh, [](const Context &c) -> Partials { return {unbounded(c.call(Op::Cosh, c.x))}; }},
    {Op::Cosh, [](const Context &c) -> Partials { return {unbounded(c.call(Op::Sinh, c.x))}; }},
    {Op::Tanh, [](const Context &c) -> Partials { return {scale(square_of_secant(c))}; }},
    {Op::Asinh,
     [](const Context &c) -> Partials { return {scale(inverse_root(c, c.add(c.square(c.x), c.number(1))))}; }},
    {Op::Acosh,
     [](const Context &c) -> Partials {
       const Value square = c.mul(c.sub(c.x, c.number(1)), c.add(c.x, c.number(1)));
       return {unbounded(inverse_root(c, square))};
     }},
    {Op::Atanh, [](const Context &c) -> Partials { return {unbounded(c.inverse(one_minus_square(c, c.x)))}; }},
    {Op::Erf, [](const Context &c) -> Partials { return {scale(c.mul(c.number(two_over_sqrt_pi), gaussian(c)))}; }},
    {Op::Erfc, [](const Context &c) -> Partials { return {scale(c.mul(c.number(-two_over_sqrt_pi), gaussian(c)))}; }},
    {Op::Lgamma, [](const Context &c) -> Partials { return {unbounded(c.call(Op::Digamma, c.x))}; }},
    {Op::Digamma, [](const Context &c) -> Partials { return {unbounded(trigamma(c))}; }},
    {Op::Pow,
     [](const Context &c) -> Partials {
       if (c.y.is_constant(2)) return {twice(c.x), zero()};
       return {power_derivative(c), c.y.is_constant() ? zero() : exponent_derivative(c)};
     }},
    {Op::Hypot, directions},
    {Op::Norm, directions},
    {Op::Fmod, [](const Context &c) -> Partials { return {one(), unbounded(c.neg(times_in(c)))}; }},
    {Op::CopySign,
     [](const Context &c) -> Partials {
       return {scale(c.mul(c.call(Op::CopySign, c.number(1), c.x), c.call(Op::CopySign, c.number(1), c.y))), zero()};
     }},
    {Op::Floor, [](const Context &) -> Partials { return {zero()}; }},
    {Op::Ceil, [](const Context &) -> Partials { return {zero()}; }},
    {Op::Round, [](const Context &) -> Partials { return {zero()}; }},
    {Op::Trunc, [](const Context &) -> Partials { return {zero()}; }},
    {Op::StopGradient, [](const Context &) -> Partials { return {zero()}; }},
};

const Row *find(Op op) {
  for (const Row &row : rows)
    if (row.op == op) return &row;
  return nullptr;
}

}  // namespace

bool has_rule(Op op) { return find(op) != nullptr; }

std::vector<Partial> partials(passes::Builder &builder, const Operation &operation, Value result) {
  const Row *row = find(operation.op);
  internal_check(row, "an operation on floating values has no derivative rule");
  const Type type = operation.type;
  const bool small = type.element() == ScalarType::Float16 || type.element() == ScalarType::BFloat16;
  const bool widened = small && (info(operation.op).typing == Typing::Floating || operation.op == Op::Div);
  std::vector<Value> operands = operation.operands;
  if (widened) {
    const Type wide = type.of(ScalarType::Float32);
    for (Value &operand : operands) operand = builder.cast(wide, operand);
    result = builder.cast(wide, result);
  }
  const auto operand = [&](std::size_t i) { return i < operands.size() ? operands[i] : result; };
  const Context context{builder, operands, operand(0), operand(1), result};
  std::vector<Partial> all = row->rule(context);
  if (widened)
    for (Partial &partial : all) {
      if (partial.kind != Partial::Kind::Scale && partial.kind != Partial::Kind::Twice) continue;
      partial.value = builder.cast(type, context.mul(partial.value, context.number(partial.coefficient)));
      partial.coefficient = 1;
    }
  return all;
}

Value apply(passes::Builder &builder, const Partial &partial, Value x, Type type) {
  switch (partial.kind) {
    case Partial::Kind::Zero: return Value::zero(type);
    case Partial::Kind::One: return builder.cast(type, x);
    case Partial::Kind::MinusOne: return builder(Op::Neg, {builder.cast(type, x)});
    case Partial::Kind::Scale: {
      Value scaled = builder(Op::Mul, {x, partial.value});
      return builder.cast(type, builder(Op::Mul, {scaled, Value::constant(x.type(), partial.coefficient)}));
    }
    case Partial::Kind::Twice: {
      Value doubled = builder(Op::Mul, {x, Value::constant(x.type(), 2)});
      return builder.cast(type, builder(Op::Mul, {doubled, partial.value}));
    }
    case Partial::Kind::Gate: return builder.cast(type, builder.select(partial.value, x, Value::zero(x.type())));
  }
  throw InternalError("a partial of unknown kind");
}

Value zero_of_zero_tangent(passes::Builder &builder, Value tangent, Value product) {
  // Selects the product itself, so that its derivative is correct if the tangent is zero.
  const Value counts = builder(Op::NotEqual, {tangent, Value::zero(tangent.type())});
  const Value is_number = builder(Op::Equal, {product, product});
  return builder.select(builder(Op::Or, {counts, is_number}), product, Value::zero(product.type()));
}

Value apply_to_tangent(passes::Builder &builder, const Partial &partial, Value tangent, Type type) {
  const Value product = apply(builder, partial, tangent, type);
  if (!partial.unbounded || product.is_constant()) return product;
  return zero_of_zero_tangent(builder, tangent, product);
}

}  // namespace samite::autodiff
