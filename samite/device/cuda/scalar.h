// The scalar types of emitted code, named as the IR prints them, and the parameters of a kernel.
#pragma once

#define SAMITE_INLINE static __device__ __forceinline__
#define SAMITE_INLINE_MEMBER __device__ __forceinline__

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

// The instances that a launch runs. The host's side is samite/codegen/cuda_launch.h.
struct Box {
  i64 begin[4], end[4];
};
static_assert(sizeof(Box) == 64, "as codegen/cuda_launch.h lays it out");

template <class A, class B>
inline constexpr bool same_type = false;
template <class A>
inline constexpr bool same_type<A, A> = true;

}  // namespace samite
