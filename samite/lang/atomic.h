// Atomic operations on an element of an array: they read, combine and write in one step, so several instances may
// update the same element in one launch.
//
//   Int place = atomic_add(count(0), 1);      // each instance gets a different one
//   atomic_max(largest(bin(i)), x(i));        // the previous value may be ignored
//
// Each returns the previous value. Instances run in no order, so that the previous value, and the last bits of floating
// sums, may differ from run to run. Only the operations themselves are atomic: they do not order other loads and stores
// of the launch, so they cannot serve as locks.
//
//   function                           types              new value
//   atomic_add, atomic_sub             floating, integer  element + value, element - value
//   atomic_min, atomic_max             floating, integer  as min and max, which ignore a NaN
//   atomic_and, atomic_or, atomic_xor  integer, bool      element & value, …
//   atomic_exchange                    any                value
//   atomic_compare_exchange            any                value, if the element has the bits of `expected`
//
// Adjoints: atomic_add and atomic_sub whose result is unused are differentiated. All others are refused if a gradient
// would pass through them, or if the adjoint needs their result.
//
// An `Array<const T, …>` does not compile; elements of local arrays are a UserError, since no other instance sees them.
#pragma once

#include "samite/lang/array.h"

namespace samite {
namespace lang {

template <class T, class... Values>
auto atomic(ir::Op op, const Element<T> &element, const Values &...values) {
  static_assert(!std::is_const_v<T>,
                "this array is read only: its parameter is Array<const T, Rank>; to change it, declare the parameter "
                "Array<T, Rank>");
  return Traced<std::remove_const_t<T>>::adopt(element.access().atomic(op, {values.value()...}));
}

}  // namespace lang

#define SAMITE_ATOMIC(name, op, condition, expected)                                       \
  template <class T>                                                                       \
  auto name(const Element<T> &element, const Operand<std::remove_const_t<T>> &value) {     \
    static_assert(condition<std::remove_const_t<T>>, #name " is for arrays of " expected); \
    return lang::atomic(ir::Op::op, element, value);                                       \
  }

namespace lang {
template <class T>
inline constexpr bool adds_up = ArithmeticScalar<T>;
template <class T>
inline constexpr bool has_bits = std::integral<T>;
template <class T>
inline constexpr bool any_scalar = Scalar<T>;
}  // namespace lang

SAMITE_ATOMIC(atomic_add, AtomicAdd, lang::adds_up, "numbers, not of bool")
SAMITE_ATOMIC(atomic_min, AtomicMin, lang::adds_up, "numbers, not of bool")
SAMITE_ATOMIC(atomic_max, AtomicMax, lang::adds_up, "numbers, not of bool")
SAMITE_ATOMIC(atomic_and, AtomicAnd, lang::has_bits, "integers or bool")
SAMITE_ATOMIC(atomic_or, AtomicOr, lang::has_bits, "integers or bool")
SAMITE_ATOMIC(atomic_xor, AtomicXor, lang::has_bits, "integers or bool")
SAMITE_ATOMIC(atomic_exchange, AtomicExchange, lang::any_scalar, "scalars")
#undef SAMITE_ATOMIC

template <class T>
auto atomic_sub(const Element<T> &element, const Operand<std::remove_const_t<T>> &value) {
  static_assert(lang::adds_up<std::remove_const_t<T>>, "atomic_sub is for arrays of numbers, not of bool");
  using U = std::remove_const_t<T>;
  ir::Value negative = lang::record(ir::Op::Neg, scalar_type_of<U>, {value.value()}, value.where());
  return atomic_add(element, Operand<U>(Traced<U>::adopt(negative), value.where()));
}

template <class T>
auto atomic_compare_exchange(const Element<T> &element, const Operand<std::remove_const_t<T>> &expected,
                             const Operand<std::remove_const_t<T>> &value) {
  return lang::atomic(ir::Op::AtomicCompareExchange, element, expected, value);
}

}  // namespace samite
