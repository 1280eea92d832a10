// The floating types of 8 and 16 bits in vectors: memory of u8 and u16, values of f32.
#pragma once

#include "samite/device/cpu/half.h"
#include "samite/device/cpu/lanes/memory.h"

namespace samite::SAMITE_LANES_NAMESPACE {

template <class Bits>
SAMITE_INLINE Vector<typename Bits::Word> narrow_lanes(F32 value) {
  return __builtin_convertvector(narrow_bits<Bits, U32>(value), Vector<typename Bits::Word>);
}
template <class Bits>
SAMITE_INLINE F32 widen_lanes(Vector<typename Bits::Word> bits) {
  return widen_bits<Bits, F32>(__builtin_convertvector(bits, U32));
}
#ifdef __F16C__
// Without contraction: otherwise the compiler merges this cast with one from f64 before it, which rounds once instead
// of twice, and for which it has no instruction.
template <>
SAMITE_INLINE_MEMBER U16 narrow_lanes<BitsF16>(F32 value) {
#pragma clang fp contract(off)
  return __builtin_bit_cast(U16, __builtin_convertvector(value, Vector<_Float16>));
}
template <>
SAMITE_INLINE_MEMBER F32 widen_lanes<BitsF16>(U16 bits) {
  return __builtin_convertvector(__builtin_bit_cast(Vector<_Float16>, bits), F32);
}
#endif

template <class Bits>
SAMITE_INLINE const typename Bits::Word *memory_bits(const SmallFloat<Bits> *p) {
  return reinterpret_cast<const typename Bits::Word *>(p);
}
template <class Bits>
SAMITE_INLINE typename Bits::Word *memory_bits(SmallFloat<Bits> *p) {
  return reinterpret_cast<typename Bits::Word *>(p);
}

template <class Bits>
SAMITE_INLINE F32 load(Mask m, const SmallFloat<Bits> *p) {
  return widen_lanes<Bits>(load(m, memory_bits(p)));
}
template <class Bits>
SAMITE_INLINE void store(Mask m, SmallFloat<Bits> *p, F32 value) {
  store(m, memory_bits(p), narrow_lanes<Bits>(value));
}
template <class Bits, class Offset>
SAMITE_INLINE F32 gather(Mask m, const SmallFloat<Bits> *p, Offset offsets) {
  return widen_lanes<Bits>(gather(m, memory_bits(p), offsets));
}
template <class Bits, class Offset>
SAMITE_INLINE void scatter(Mask m, SmallFloat<Bits> *p, Offset offsets, F32 value) {
  scatter(m, memory_bits(p), offsets, narrow_lanes<Bits>(value));
}
template <class Bits>
SAMITE_INLINE void store_last(Mask m, SmallFloat<Bits> *p, F32 value) {
  *p = f32(value[last_active(m)]);
}

template <class Bits>
SAMITE_INLINE F32 take(Mask m, SmallFloat<Bits> *p) {
  return widen_lanes<Bits>(take(m, memory_bits(p)));
}
template <class Bits, class Offset>
SAMITE_INLINE F32 take(Mask m, SmallFloat<Bits> *p, Offset offsets) {
  return widen_lanes<Bits>(take(m, memory_bits(p), offsets));
}

// In registers, rounded to H.
template <class H>
SAMITE_INLINE F32 round_to(F32 value) {
  return widen_lanes<typename H::Bits>(narrow_lanes<typename H::Bits>(value));
}

// As for scalars in samite/device/cpu/half.h.
SAMITE_INLINE F32 round_to_odd(F64 value) {
  const F32 nearest = __builtin_convertvector(value, F32);
  const F64 rest = value - __builtin_convertvector(nearest, F64);
  const U32 bits = __builtin_bit_cast(U32, nearest);
  const Mask inexact = to_mask(rest != F64(0)) & to_mask(rest == rest) & to_mask((bits & U32(1)) == U32(0));
  const Mask outward = to_mask((__builtin_bit_cast(I64, rest) < I64(0)) == (value < F64(0)));
  return __builtin_bit_cast(F32, inexact ? (outward ? bits + U32(1) : bits - U32(1)) : bits);
}
template <class V>
SAMITE_INLINE F64 wide_lanes_to_f64(V value) {
  const Mask above = to_mask(value >= V(i64(1) << 53)), below = to_mask(value < V(-(i64(1) << 53)));
  const Mask large = __is_same(V, I64) ? above | below : above;
  const V kept = value >> V(11) | ((value & V(2047)) != V(0) ? V(1) : V(0));
  return large ? __builtin_convertvector(kept, F64) * F64(2048) : __builtin_convertvector(value, F64);
}
template <class H, class V>
SAMITE_INLINE F32 cast_lanes_to(V value) {
  if constexpr (__is_same(V, F32))
    return round_to<H>(value);
  else if constexpr (__is_same(V, F64))
    return round_to<H>(round_to_odd(value));
  else if constexpr (__is_same(V, I64) || __is_same(V, U64))
    return round_to<H>(round_to_odd(wide_lanes_to_f64(value)));
  else if constexpr (__is_same(V, I32) || __is_same(V, U32))
    return round_to<H>(round_to_odd(__builtin_convertvector(value, F64)));
  else
    return round_to<H>(__builtin_convertvector(value, F32));
}

}  // namespace samite::SAMITE_LANES_NAMESPACE
