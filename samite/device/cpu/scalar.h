// The scalar types of emitted code, named as the IR prints them.
#pragma once

#define SAMITE_INLINE static inline __attribute__((always_inline))
#define SAMITE_INLINE_MEMBER inline __attribute__((always_inline))

namespace samite {

using i8 = signed char;
using i16 = short;
using i32 = int;
using i64 = long long;
using u8 = unsigned char;
using u16 = unsigned short;
using u32 = unsigned int;
using u64 = unsigned long long;
using f32 = float;
using f64 = double;

// An array argument: element [i, j, ..] is at data[i * stride[0] + j * stride[1] + ..]. Part of the entry's ABI, with
// samite/codegen/argument_layout.h on the host's side.
template <class T, int rank>
struct Array {
  T *data;
  i64 extent[rank];
  i64 stride[rank];
};

// A scalar argument.
template <class T>
struct alignas(8) Slot {
  T value;
};

}  // namespace samite
