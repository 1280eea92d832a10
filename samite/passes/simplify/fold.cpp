#include "samite/passes/simplify/fold.h"

#include <cmath>

namespace samite::passes {
namespace {

using namespace ir;

bool operands_may_swap(Op op) {
  return op == Op::Add || op == Op::Mul || op == Op::And || op == Op::Or || op == Op::Xor;
}

std::optional<Value> fold_floating(Op op, Type type, double a, double b) {
  // For these four, rounding the result from double to the narrower type gives that type's own result.
  switch (op) {
    case Op::Add: return Value::constant(type, a + b);
    case Op::Sub: return Value::constant(type, a - b);
    case Op::Mul: return Value::constant(type, a * b);
    case Op::Div: return Value::constant(type, a / b);
    default: return std::nullopt;
  }
}

std::optional<Value> fold_integer(Op op, Type type, Value x, Value y) {
  bool is_unsigned = class_of(type) != ScalarClass::Signed;
  auto a = static_cast<std::uint64_t>(x.as_int()), b = static_cast<std::uint64_t>(y.as_int());
  std::int64_t sa = x.as_int(), sb = y.as_int();
  auto result = [&](std::uint64_t bits) { return Value::constant(type, static_cast<std::int64_t>(bits)); };
  switch (op) {
    case Op::Add: return result(a + b);
    case Op::Sub: return result(a - b);
    case Op::Mul: return result(a * b);
    case Op::And: return result(a & b);
    case Op::Or: return result(a | b);
    case Op::Xor: return result(a ^ b);
    case Op::Min: return is_unsigned ? result(a < b ? a : b) : result(sa < sb ? a : b);
    case Op::Max: return is_unsigned ? result(a > b ? a : b) : result(sa > sb ? a : b);
    case Op::Div:
    case Op::Rem:
      if (sb == 0 || (!is_unsigned && sb == -1)) return std::nullopt;
      if (is_unsigned) return result(op == Op::Div ? a / b : a % b);
      return result(static_cast<std::uint64_t>(op == Op::Div ? sa / sb : sa % sb));
    default: return std::nullopt;
  }
}

std::optional<Value> fold_comparison(Op op, Type type, const Value &x, const Value &y) {
  auto compare = [op, type](auto a, auto b) -> std::optional<Value> {
    switch (op) {
      case Op::Equal: return Value::constant(type, a == b);
      case Op::NotEqual: return Value::constant(type, a != b);
      case Op::Less: return Value::constant(type, a < b);
      case Op::LessEqual: return Value::constant(type, a <= b);
      case Op::Greater: return Value::constant(type, a > b);
      case Op::GreaterEqual: return Value::constant(type, a >= b);
      default: return std::nullopt;
    }
  };
  if (is_floating(x.type())) return compare(x.as_double(), y.as_double());
  if (class_of(x.type()) == ScalarClass::Signed) return compare(x.as_int(), y.as_int());
  return compare(x.bits(), y.bits());
}

std::optional<Value> fold_cast(Type type, const Value &x) {
  if (type.element() == ScalarType::Bool) return std::nullopt;
  if (!is_floating(x.type())) {
    bool wide = x.type().element() == ScalarType::UInt64;
    // Straight to f32: through double a 64-bit integer would be rounded twice.
    if (type.element() == ScalarType::Float16 || type.element() == ScalarType::BFloat16) {
      if (!wide) return Value::constant(type, x.as_int());
      return Value::constant(
          type, type.element() == ScalarType::Float16 ? double{half(x.bits())} : double{bfloat16(x.bits())});
    }
    if (type.element() == ScalarType::Float32)
      return Value::constant(type, double{wide ? static_cast<float>(x.bits()) : static_cast<float>(x.as_int())});
    return wide && is_floating(type) ? Value::constant(type, x.as_double()) : Value::constant(type, x.as_int());
  }
  if (is_floating(type)) return Value::constant(type, x.as_double());
  // A floating value outside of the integer's range is undefined: left to the target.
  double below = class_of(type) == ScalarClass::Signed ? -2147483648.0 : -1.0;
  if (!(x.as_double() > below && x.as_double() < 2147483648.0) || size_of(type) < 4) return std::nullopt;
  return Value::constant(type, static_cast<std::int64_t>(x.as_double()));
}

// x op c and c op x for a neutral c, and operations on bool.
std::optional<Value> fold_neutral(Op op, const Value &x, const Value &y) {
  if (operands_may_swap(op) && x.is_constant() && !y.is_constant()) return fold_neutral(op, y, x);
  if (!y.is_constant()) {
    if ((op == Op::And || op == Op::Or || op == Op::Min || op == Op::Max) && x == y) return x;
    return std::nullopt;
  }
  bool floating = is_floating(x.type());
  switch (op) {
    case Op::Add:
    case Op::Sub: return y.is_constant(0.0) ? std::optional(x) : std::nullopt;
    case Op::Mul:
      if (!floating && y.is_constant(0.0)) return y;
      return y.is_constant(1.0) ? std::optional(x) : std::nullopt;
    case Op::Div: return y.is_constant(1.0) ? std::optional(x) : std::nullopt;
    case Op::And:
      if (x.type().element() == ScalarType::Bool) return y.bits() ? x : y;
      return y.bits() == 0 ? std::optional(y) : std::nullopt;
    case Op::Or:
      if (x.type().element() == ScalarType::Bool) return y.bits() ? y : x;
      return y.bits() == 0 ? std::optional(x) : std::nullopt;
    default: return std::nullopt;
  }
}

// Operations on tiles: on constants, whose elements are equal, and without an effect.
std::optional<Value> fold_tile(const Operation &operation) {
  const auto &operands = operation.operands;
  const Value &x = operands[0];
  const bool same = x.type() == operation.type, zero = x.is_constant() && x.bits() == 0;
  switch (operation.op) {
    case Op::Broadcast:
    case Op::Reshape:
      if (same) return x;
      return x.is_constant() ? std::optional(Value::from_bits(operation.type, x.bits())) : std::nullopt;
    case Op::Transpose:
      return x.is_constant() ? std::optional(Value::from_bits(operation.type, x.bits())) : std::nullopt;
    case Op::ScanAdd:
    case Op::Take:
    case Op::PutAdd:
    case Op::Fourier:
    case Op::Window: return zero ? std::optional(Value::zero(operation.type)) : std::nullopt;
    case Op::ReduceAdd:
    case Op::ReduceMul:
      if (same) return x;
      return zero ? std::optional(Value::zero(operation.type)) : std::nullopt;
    case Op::ReduceMin:
    case Op::ReduceMax:
      if (same) return x;
      return x.is_constant() ? std::optional(Value::from_bits(operation.type, x.bits())) : std::nullopt;
    case Op::MatMul:
      return zero || (operands[1].is_constant() && operands[1].bits() == 0) ? std::optional(operands[2]) : std::nullopt;
    default: return std::nullopt;
  }
}

}  // namespace

std::optional<Value> fold(const Operation &operation) {
  const auto &operands = operation.operands;
  Typing typing = info(operation.op).typing;
  if (typing >= Typing::Coordinate) return operands.empty() ? std::nullopt : fold_tile(operation);
  if (operation.op == Op::Copy) return operands[0];
  if (operation.op == Op::Select) {
    if (operands[0].is_constant()) return operands[0].bits() ? operands[1] : operands[2];
    if (operands[1] == operands[2]) return operands[1];
    return std::nullopt;
  }
  if (operation.op == Op::Cast)
    return operands[0].is_constant() ? fold_cast(operation.type, operands[0]) : std::nullopt;
  if (operation.op == Op::Neg && operands[0].is_constant())
    return is_floating(operation.type)
               ? Value::constant(operation.type, -operands[0].as_double())
               : fold_integer(Op::Sub, operation.type, Value::zero(operation.type), operands[0]);
  if (operation.op == Op::Not && operands[0].is_constant())
    return operation.type.element() == ScalarType::Bool ? Value::constant(operation.type, operands[0].bits() ? 0 : 1)
                                                        : Value::constant(operation.type, ~operands[0].as_int());
  if (operands.size() != 2 || !info(operation.op).pure) return std::nullopt;
  const Value &a = operands[0], &b = operands[1];
  if (a.is_constant() && b.is_constant()) {
    if (typing == Typing::Compare) return fold_comparison(operation.op, operation.type, a, b);
    if (typing != Typing::Same && typing != Typing::Integer && typing != Typing::Bits) return std::nullopt;
    auto folded = is_floating(operation.type)
                      ? fold_floating(operation.op, operation.type, a.as_double(), b.as_double())
                      : fold_integer(operation.op, operation.type, a, b);
    if (folded) return folded;
  }
  return fold_neutral(operation.op, a, b);
}

}  // namespace samite::passes
