// Tensor maps, as the driver's binary interface has them; see abi.h.
#pragma once

#include "samite/driver/abi.h"

namespace samite::driver {

inline constexpr unsigned max_tensor_rank = 5;

// Element types. The driver has no type of its own for 8-bit floats: they are u8, which moves the same bits.
// The packed types hold 4- and 6-bit values, 16 to a group, and need CUDA 12.8.
//     enumerator, CU_TENSOR_MAP_DATA_TYPE_ name, value, bits of one element in global memory, class
#define SAMITE_TENSOR_TYPES(X)                   \
  X(u8, UINT8, 0, 8, Integer)                    \
  X(u16, UINT16, 1, 16, Integer)                 \
  X(u32, UINT32, 2, 32, Integer)                 \
  X(i32, INT32, 3, 32, Integer)                  \
  X(u64, UINT64, 4, 64, Integer)                 \
  X(i64, INT64, 5, 64, Integer)                  \
  X(f16, FLOAT16, 6, 16, Floating)               \
  X(f32, FLOAT32, 7, 32, Floating)               \
  X(f64, FLOAT64, 8, 64, Floating)               \
  X(bf16, BFLOAT16, 9, 16, Floating)             \
  X(f32_ftz, FLOAT32_FTZ, 10, 32, Floating)      \
  X(tf32, TFLOAT32, 11, 32, Floating)            \
  X(tf32_ftz, TFLOAT32_FTZ, 12, 32, Floating)    \
  X(u4x16_align8, 16U4_ALIGN8B, 13, 4, Packed)   \
  X(u4x16_align16, 16U4_ALIGN16B, 14, 4, Packed) \
  X(u6x16_align16, 16U6_ALIGN16B, 15, 6, Packed)

enum class TensorType : int {
#define SAMITE_ENUMERATOR(name, driver_name, value, bits, kind) name = value,
  SAMITE_TENSOR_TYPES(SAMITE_ENUMERATOR)
#undef SAMITE_ENUMERATOR
};

enum class Interleave : int { none = 0, bytes_16 = 1, bytes_32 = 2 };

enum class Swizzle : int {
  none = 0,
  bytes_32 = 1,
  bytes_64 = 2,
  bytes_128 = 3,
  bytes_128_atom_32 = 4,  // from 12.8, as those below
  bytes_128_atom_32_flip_8 = 5,
  bytes_128_atom_64 = 6,
};

enum class L2Promotion : int { none = 0, bytes_64 = 1, bytes_128 = 2, bytes_256 = 3 };
enum class OutOfBounds : int { zero = 0, nan = 1 };
enum class Im2colWideMode : int { w = 0, w128 = 1 };

struct alignas(128) TensorMapBits {
  std::uint64_t words[16];
};

}  // namespace samite::driver
