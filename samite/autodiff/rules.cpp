#include "samite/autodiff/rules.h"

#include "samite/base/error.h"

#include <numbers>

namespace samite::autodiff {
namespace {

using namespace ir;

// What a rule sees: the operands x and y, the result r, and arithmetic on them.
struct Context {
  passes::Builder &builder;
  Value x, y, r, z;  // z: a third operand (select)

  Value number(double value) const { return Value::constant(r.type(), value); }
  Value add(Value a, Value b) const { return builder(Op::Add, {a, b}); }
  Value sub(Value a, Value b) const { return builder(Op::Sub, {a, b}); }
  Value mul(Value a, Value b) const { return builder(Op::Mul, {a, b}); }
  Value div(Value a, Value b) const { return builder(Op::Div, {a, b}); }
  Value neg(Value a) const { return builder(Op::Neg, {a}); }
  Value square(Value a) const { return mul(a, a); }
  Value inverse(Value a) const { return div(number(1), a); }
  Value call(Op op, Value a) const { return builder(op, {a}); }
  Value call(Op op, Value a, Value b) const { return builder(op, {a, b}); }
};

using Partials = std::vector<Partial>;
using Rule = Partials (*)(const Context &);

Partial one() { return {Partial::Kind::One}; }
Partial minus_one() { return {Partial::Kind::MinusOne}; }
Partial zero() { return {}; }
Partial scale(Value value) { return {Partial::Kind::Scale, value}; }
Partial scale(Value value, double coefficient) { return {Partial::Kind::Scale, value, coefficient}; }
Partial twice(Value value) { return {Partial::Kind::Twice, value}; }
Partial gate(Value condition) { return {Partial::Kind::Gate, condition}; }

// min and max return the other operand where one is NaN; the derivative goes to that operand, too.
Partials pick(const Context &c, Op order) {
  Value first = c.call(Op::Or, c.call(order, c.x, c.y), c.call(Op::NotEqual, c.y, c.y));
  return {gate(first), gate(c.call(Op::Not, first))};
}

Value sign(const Context &c, Value a) {
  Value below = c.builder.select(c.call(Op::Less, a, c.number(0)), c.number(-1), c.number(0));
  return c.builder.select(c.call(Op::Greater, a, c.number(0)), c.number(1), below);
}

// The derivative of the zeroth power is zero, also at zero, where x⁻¹ is not finite: there x⁻¹ is not computed.
Partial power_derivative(const Context &c) {
  if (c.y.is_constant(0)) return zero();
  if (c.y.is_constant(1)) return one();
  Value x = c.x;
  if (!c.y.is_constant()) x = c.builder.select(c.call(Op::Equal, c.y, c.number(0)), c.number(1), x);
  return scale(c.mul(c.y, c.call(Op::Pow, x, c.sub(c.y, c.number(1)))));
}

Value exponent_derivative(const Context &c) {
  Value at_zero = c.call(Op::Equal, c.x, c.number(0));
  return c.builder.select(at_zero, c.number(0), c.mul(c.r, c.call(Op::Log, c.x)));
}

Value hypot_derivative(const Context &c, Value a) {
  return c.builder.select(c.call(Op::Equal, c.r, c.number(0)), c.number(0), c.div(a, c.r));
}

constexpr double two_over_sqrt_pi = 2 * std::numbers::inv_sqrtpi;

struct Row {
  Op op;
  Rule rule;
};

const Row rows[] = {
    {Op::Copy, [](const Context &) -> Partials { return {one()}; }},
    {Op::Cast, [](const Context &) -> Partials { return {one()}; }},
    {Op::Select, [](const Context &c) -> Partials { return {zero(), gate(c.x), gate(c.call(Op::Not, c.x))}; }},
    {Op::Neg, [](const Context &) -> Partials { return {minus_one()}; }},
    {Op::Add, [](const Context &) -> Partials { return {one(), one()}; }},
    {Op::Sub, [](const Context &) -> Partials { return {one(), minus_one()}; }},
    {Op::Mul,
     [](const Context &c) -> Partials {
       if (c.x == c.y) return {twice(c.x), zero()};
       return {scale(c.y), scale(c.x)};
     }},
    {Op::Div,
     [](const Context &c) -> Partials {
       Value inverse = c.inverse(c.y);
       return {scale(inverse), scale(c.neg(c.mul(c.r, inverse)))};
     }},
    {Op::Min, [](const Context &c) -> Partials { return pick(c, Op::LessEqual); }},
    {Op::Max, [](const Context &c) -> Partials { return pick(c, Op::GreaterEqual); }},
    {Op::Abs, [](const Context &c) -> Partials { return {scale(sign(c, c.x))}; }},
    {Op::Sqrt, [](const Context &c) -> Partials { return {scale(c.inverse(c.r), 0.5)}; }},
    {Op::Rsqrt, [](const Context &c) -> Partials { return {scale(c.mul(c.r, c.square(c.r)), -0.5)}; }},
    {Op::Cbrt, [](const Context &c) -> Partials { return {scale(c.inverse(c.mul(c.number(3), c.square(c.r))))}; }},
    {Op::Exp, [](const Context &c) -> Partials { return {scale(c.r)}; }},
    {Op::Exp2, [](const Context &c) -> Partials { return {scale(c.mul(c.r, c.number(std::numbers::ln2)))}; }},
    {Op::FastExp2, [](const Context &c) -> Partials { return {scale(c.mul(c.r, c.number(std::numbers::ln2)))}; }},
    {Op::Expm1, [](const Context &c) -> Partials { return {scale(c.add(c.r, c.number(1)))}; }},
    {Op::Log, [](const Context &c) -> Partials { return {scale(c.inverse(c.x))}; }},
    {Op::Log2, [](const Context &c) -> Partials { return {scale(c.div(c.number(std::numbers::log2e), c.x))}; }},
    {Op::Log10, [](const Context &c) -> Partials { return {scale(c.div(c.number(std::numbers::log10e), c.x))}; }},
    {Op::Log1p, [](const Context &c) -> Partials { return {scale(c.inverse(c.add(c.number(1), c.x)))}; }},
    {Op::Sin, [](const Context &c) -> Partials { return {scale(c.call(Op::Cos, c.x))}; }},
    {Op::Cos, [](const Context &c) -> Partials { return {scale(c.neg(c.call(Op::Sin, c.x)))}; }},
    {Op::Tan, [](const Context &c) -> Partials { return {scale(c.add(c.number(1), c.square(c.r)))}; }},
    {Op::Asin,
     [](const Context &c) -> Partials { return {scale(c.call(Op::Rsqrt, c.sub(c.number(1), c.square(c.x))))}; }},
    {Op::Acos,
     [](const Context &c) -> Partials { return {scale(c.neg(c.call(Op::Rsqrt, c.sub(c.number(1), c.square(c.x)))))}; }},
    {Op::Atan, [](const Context &c) -> Partials { return {scale(c.inverse(c.add(c.number(1), c.square(c.x))))}; }},
    {Op::Atan2,  // atan2(x, y): the angle whose sine is x's and cosine y's
     [](const Context &c) -> Partials {
       Value square = c.add(c.square(c.x), c.square(c.y));
       return {scale(c.div(c.y, square)), scale(c.neg(c.div(c.x, square)))};
     }},
    {Op::Sinh, [](const Context &c) -> Partials { return {scale(c.call(Op::Cosh, c.x))}; }},
    {Op::Cosh, [](const Context &c) -> Partials { return {scale(c.call(Op::Sinh, c.x))}; }},
    {Op::Tanh, [](const Context &c) -> Partials { return {scale(c.sub(c.number(1), c.square(c.r)))}; }},
    {Op::Asinh,
     [](const Context &c) -> Partials { return {scale(c.call(Op::Rsqrt, c.add(c.square(c.x), c.number(1))))}; }},
    {Op::Acosh,
     [](const Context &c) -> Partials { return {scale(c.call(Op::Rsqrt, c.sub(c.square(c.x), c.number(1))))}; }},
    {Op::Atanh, [](const Context &c) -> Partials { return {scale(c.inverse(c.sub(c.number(1), c.square(c.x))))}; }},
    {Op::Erf,
     [](const Context &c) -> Partials {
       return {scale(c.mul(c.number(two_over_sqrt_pi), c.call(Op::Exp, c.neg(c.square(c.x)))))};
     }},
    {Op::Erfc,
     [](const Context &c) -> Partials {
       return {scale(c.mul(c.number(-two_over_sqrt_pi), c.call(Op::Exp, c.neg(c.square(c.x)))))};
     }},
    {Op::Pow,
     [](const Context &c) -> Partials {
       if (c.y.is_constant(2)) return {twice(c.x), zero()};
       return {power_derivative(c), c.y.is_constant() ? zero() : scale(exponent_derivative(c))};
     }},
    {Op::Hypot,
     [](const Context &c) -> Partials { return {scale(hypot_derivative(c, c.x)), scale(hypot_derivative(c, c.y))}; }},
    {Op::Fmod, [](const Context &c) -> Partials { return {one(), scale(c.neg(c.call(Op::Trunc, c.div(c.x, c.y))))}; }},
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
  const auto &operands = operation.operands;
  auto operand = [&](std::size_t i) { return i < operands.size() ? operands[i] : result; };
  return row->rule({builder, operand(0), operand(1), result, operand(2)});
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

}  // namespace samite::autodiff
