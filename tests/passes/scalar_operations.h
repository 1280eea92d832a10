// The meaning of the IR's operations, in plain C++ on one number: the reference for passes and code generation.
//
// Written independently of `passes/simplify/fold.cpp`, which it checks. If C++ leaves a result undefined, this follows
// the device headers: integers wrap, x / 0 is 0 and x % 0 is x, a shift counts modulo the width. A floating value that
// no integer can hold becomes the nearest one that can, NaN 0. There is one NaN: signs and payloads are not kept.
#pragma once

#include "samite/ir/op.h"
#include "samite/ir/value.h"

#include <bit>
#include <cmath>
#include <limits>
#include <numbers>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

namespace samite::test {

using ir::Op;
using ir::Typing;
using ir::Value;

// Calls `function` with a zero of the C++ type that `type` names.
template <class F>
decltype(auto) with_host_type(ScalarType type, F &&function) {
  switch (type) {
#define SAMITE_CASE(name, text, host, bytes, kind) \
  case ScalarType::name: return function(host{});
    SAMITE_SCALAR_TYPES(SAMITE_CASE)
#undef SAMITE_CASE
  }
  throw std::logic_error("a scalar type without a C++ type");
}

template <Scalar T>
Value boxed(T number) {
  if constexpr (FloatingScalar<T>) {
    auto wide = static_cast<double>(number);
    return Value::constant(scalar_type_of<T>, std::isnan(wide) ? std::numeric_limits<double>::quiet_NaN() : wide);
  } else
    return Value::constant(scalar_type_of<T>, static_cast<std::int64_t>(number));
}

template <Scalar T>
T unboxed(const Value &constant) {
  if constexpr (FloatingScalar<T>)
    return static_cast<T>(constant.as_double());
  else
    return static_cast<T>(constant.bits());
}

namespace scalar_rules {

[[noreturn]] inline void unknown(Op op) {
  throw std::logic_error("no reference for the operation " + std::string(ir::info(op).name));
}

// The derivative of lgamma of a number that is not a pole, by differences of a recurrence and an asymptotic series.
inline double digamma(double x) {
  if (x < 0) return digamma(1 - x) - std::numbers::pi / std::tan(std::numbers::pi * x);
  double sum = 0;
  for (; x < 20; ++x) sum -= 1 / x;
  const double q = 1 / (x * x);
  return sum + std::log(x) - 0.5 / x - q * (1.0 / 12 - q * (1.0 / 120 - q * (1.0 / 252 - q * (1.0 / 240 - q / 132))));
}

template <std::floating_point T>
T norm(std::span<const T> numbers) {
  long double sum = 0;
  for (const T number : numbers) sum += static_cast<long double>(number) * number;
  return static_cast<T>(std::sqrt(sum));
}

template <std::floating_point T>
T floating(Op op, T a, T b) {
  switch (op) {
    case Op::Neg: return -a;
    case Op::Add: return a + b;
    case Op::Sub: return a - b;
    case Op::Mul: return a * b;
    case Op::Div: return a / b;
    case Op::Min: return std::fmin(a, b);
    case Op::Max: return std::fmax(a, b);
    case Op::Abs: return std::fabs(a);
    case Op::Sqrt: return std::sqrt(a);
    case Op::Rsqrt: return 1 / std::sqrt(a);
    case Op::Cbrt: return std::cbrt(a);
    case Op::Exp: return std::exp(a);
    case Op::Exp2:
    case Op::FastExp2: return std::exp2(a);
    case Op::Expm1: return std::expm1(a);
    case Op::Log: return std::log(a);
    case Op::Log2: return std::log2(a);
    case Op::Log10: return std::log10(a);
    case Op::Log1p: return std::log1p(a);
    case Op::Sin: return std::sin(a);
    case Op::Cos: return std::cos(a);
    case Op::Tan: return std::tan(a);
    case Op::Asin: return std::asin(a);
    case Op::Acos: return std::acos(a);
    case Op::Atan: return std::atan(a);
    case Op::Atan2: return std::atan2(a, b);
    case Op::Sinh: return std::sinh(a);
    case Op::Cosh: return std::cosh(a);
    case Op::Tanh: return std::tanh(a);
    case Op::Asinh: return std::asinh(a);
    case Op::Acosh: return std::acosh(a);
    case Op::Atanh: return std::atanh(a);
    case Op::Erf: return std::erf(a);
    case Op::Erfc: return std::erfc(a);
    case Op::Lgamma: return std::lgamma(a);
    case Op::Digamma: return static_cast<T>(digamma(a));
    case Op::Pow: return std::pow(a, b);
    case Op::Hypot: return std::hypot(a, b);
    case Op::Fmod: return std::fmod(a, b);
    case Op::CopySign: return std::copysign(a, b);
    case Op::Floor: return std::floor(a);
    case Op::Ceil: return std::ceil(a);
    case Op::Round: return std::round(a);
    case Op::Trunc: return std::trunc(a);
    case Op::StopGradient: return a;
    default: unknown(op);
  }
}

template <std::integral T>
T integer(Op op, T a, T b) {
  // 64 unsigned bits wrap, and their low ones are the result of any narrower type.
  auto wide = [](T x) { return static_cast<std::uint64_t>(x); };
  const int count = static_cast<int>(wide(b) & (8 * sizeof(T) - 1));
  const bool overflows = std::is_signed_v<T> && wide(b) == wide(static_cast<T>(-1));
  switch (op) {
    case Op::Neg: return static_cast<T>(0 - wide(a));
    case Op::Add: return static_cast<T>(wide(a) + wide(b));
    case Op::Sub: return static_cast<T>(wide(a) - wide(b));
    case Op::Mul: return static_cast<T>(wide(a) * wide(b));
    case Op::Div: return b == 0 ? T{0} : overflows ? static_cast<T>(0 - wide(a)) : static_cast<T>(a / b);
    case Op::Rem: return b == 0 ? a : overflows ? T{0} : static_cast<T>(a % b);
    case Op::Min: return a < b ? a : b;
    case Op::Max: return a > b ? a : b;
    case Op::Abs: return a < T{0} ? static_cast<T>(0 - wide(a)) : a;
    case Op::And: return static_cast<T>(wide(a) & wide(b));
    case Op::Or: return static_cast<T>(wide(a) | wide(b));
    case Op::Xor: return static_cast<T>(wide(a) ^ wide(b));
    case Op::Not: return static_cast<T>(~wide(a));
    case Op::ShiftLeft: return static_cast<T>(wide(a) << count);
    case Op::ShiftRight: return static_cast<T>(a >> count);
    case Op::PopCount: return static_cast<T>(std::popcount(static_cast<std::make_unsigned_t<T>>(a)));
    case Op::LeadingZeros: return static_cast<T>(std::countl_zero(static_cast<std::make_unsigned_t<T>>(a)));
    case Op::TrailingZeros: return static_cast<T>(std::countr_zero(static_cast<std::make_unsigned_t<T>>(a)));
    default: unknown(op);
  }
}

inline bool boolean(Op op, bool a, bool b) {
  switch (op) {
    case Op::And: return a && b;
    case Op::Or: return a || b;
    case Op::Xor: return a != b;
    case Op::Not: return !a;
    default: unknown(op);
  }
}

template <class T>
bool comparison(Op op, T a, T b) {
  switch (op) {
    case Op::Equal: return a == b;
    case Op::NotEqual: return a != b;
    case Op::Less: return a < b;
    case Op::LessEqual: return a <= b;
    case Op::Greater: return a > b;
    case Op::GreaterEqual: return a >= b;
    default: unknown(op);
  }
}

template <class To, class From>
To cast(From x) {
  if constexpr (FloatingScalar<From> && sizeof(From) <= 2) {
    return cast<To>(static_cast<float>(x));
  } else if constexpr (std::same_as<To, bool>) {
    return x != From{0};
  } else if constexpr (std::floating_point<From> && std::integral<To>) {
    using Limits = std::numeric_limits<To>;
    if (std::isnan(x)) return 0;
    // One more than the largest is a power of two, which is a floating number where the largest itself is not.
    const From above = std::ldexp(From{1}, Limits::digits);
    if (x >= above) return Limits::max();
    if (x <= static_cast<From>(Limits::min())) return Limits::min();
    return static_cast<To>(x);
  } else {
    return static_cast<To>(x);
  }
}

template <class To, class From>
To bit_cast(From x) {
  if constexpr (sizeof(To) == sizeof(From) && !std::same_as<To, bool> && !std::same_as<From, bool>)
    return std::bit_cast<To>(x);
  else
    unknown(Op::BitCast);
}

// Operations with a number of operands other than one or two.
template <std::floating_point T>
T floating(Op op, std::span<const T> operands) {
  if (op == Op::Fma) return std::fma(operands[0], operands[1], operands[2]);
  if (op == Op::Norm) return norm(operands);
  return floating(op, operands.front(), operands.back());
}

}  // namespace scalar_rules

// The result of a pure operation on constants. `type` is that of the result.
inline Value evaluate(Op op, ScalarType type, std::span<const Value> operands) {
  switch (ir::info(op).typing) {
    case Typing::Same:
    case Typing::Floating:
    case Typing::Integer:
    case Typing::Bits:
      return with_host_type(type, [&]<class T>(T) {
        T a = unboxed<T>(operands.front()), b = unboxed<T>(operands.back());
        if constexpr (FloatingScalar<T>) {
          using Computed = std::conditional_t<sizeof(T) <= 2, float, T>;
          std::vector<Computed> numbers;
          for (const Value &operand : operands) numbers.push_back(static_cast<Computed>(unboxed<T>(operand)));
          return boxed(T(scalar_rules::floating<Computed>(op, numbers)));
        }
        if constexpr (std::same_as<T, bool>)
          return boxed(scalar_rules::boolean(op, a, b));
        else if constexpr (std::integral<T>)
          return boxed(scalar_rules::integer(op, a, b));
      });
    case Typing::Compare:
      return with_host_type(operands[0].type(), [&]<class T>(T) {
        return boxed(scalar_rules::comparison(op, unboxed<T>(operands[0]), unboxed<T>(operands[1])));
      });
    case Typing::Cast:
      return with_host_type(type, [&]<class To>(To) {
        return with_host_type(operands[0].type(), [&]<class From>(From) {
          const From from = unboxed<From>(operands[0]);
          return boxed(op == Op::BitCast ? scalar_rules::bit_cast<To>(from) : scalar_rules::cast<To>(from));
        });
      });
    case Typing::Select: return operands[operands[0].bits() != 0 ? 1 : 2];
    case Typing::Copy:
      if (op == Op::Copy) return operands[0];
      break;
    default: break;
  }
  scalar_rules::unknown(op);
}

}  // namespace samite::test
