// Copies arrays whose layout bulk copies cannot read, so that each row begins at a multiple of 16 bytes
// (samite/jit/array_copies.h). Elements of 1, 2 or 4 bytes are copied as bits.
//
// `copy_rows`: the elements of a row are contiguous. `copy_transposed`: the elements of a column are.
#pragma once

#include "samite/device/cuda/memory.h"

namespace samite {

// Four dimensions; the first may be 1. Strides and the distance between rows of the copy count bytes.
struct ArrayCopy {
  const u8 *from;
  u8 *to;
  i64 extent[4], stride[4], row_bytes;

  // Row `row` of all dimensions but the last, in order.
  SAMITE_INLINE_MEMBER const u8 *row_of(u32 row) const {
    const u32 second = u32(extent[1]), third = u32(extent[2]);
    if (second == 1 && extent[0] == 1) return from + i64(row) * stride[2];
    const u32 outer = row / third;
    return from + i64(row % third) * stride[2] + i64(outer % second) * stride[1] + i64(outer / second) * stride[0];
  }
  SAMITE_INLINE_MEMBER u32 rows() const { return u32(extent[0] * extent[1] * extent[2]); }
};

template <int bytes>
struct ElementBits;
template <>
struct ElementBits<1> {
  using Type = u8;
};
template <>
struct ElementBits<2> {
  using Type = u16;
};
template <>
struct ElementBits<4> {
  using Type = u32;
};

// The 16 bytes from `at` on of a row that ends at `end`, padded with zeros. If the two units of 16 bytes around them
// are inside the row, they come from these, otherwise element by element: bytes outside may not belong to the array.
template <int bytes>
SAMITE_INLINE Bits128 row_unit(const u8 *begin, const u8 *at, const u8 *end) {
  using Element = typename ElementBits<bytes>::Type;
  const u32 within = u32(u64(at)) & 15;
  const u8 *const units = at - within;
  struct Unit {
    u64 at[2];
  } unit = {};
  if (units >= begin && units + 32 <= end) {
    struct Pair {
      Bits128 unit[2];
    };
    struct Words {
      u64 at[4];
    };
    const auto *const first = reinterpret_cast<const Bits128 *>(units);
    const auto word = __builtin_bit_cast(Words, Pair{{load_constant_bits(first), load_constant_bits(first + 1)}});
    const bool upper = within >= 8;
    const u32 bits = (within & 7) * 8;
    const u64 w0 = upper ? word.at[1] : word.at[0], w1 = upper ? word.at[2] : word.at[1],
              w2 = upper ? word.at[3] : word.at[2];
    // In two steps, since no shift is by 64.
    unit = {{w0 >> bits | w1 << 1 << (63 - bits), w1 >> bits | w2 << 1 << (63 - bits)}};
  } else {
    constexpr int each = 8 / bytes;
#pragma unroll
    for (int e = 0; e < 2 * each; ++e)
      if (at + (e + 1) * bytes <= end)
        unit.at[e / each] |= u64(load_constant_bits(reinterpret_cast<const Element *>(at) + e))
                             << (e % each * 8 * bytes);
  }
  return __builtin_bit_cast(Bits128, unit);
}

inline constexpr int copying_threads = 256, row_units_of_thread = 4, transposed_tile = 64;

// Each block copies the next `copying_threads` * `row_units_of_thread` units of 16 bytes.
template <int bytes>
SAMITE_INLINE void copy_rows(const ArrayCopy &copy) {
  const u32 of_row = u32(copy.row_bytes / 16), all = copy.rows() * of_row;
  const u32 first = blockIdx.x * (copying_threads * row_units_of_thread) + threadIdx.x;
  Bits128 units[row_units_of_thread];
#pragma unroll
  for (int n = 0; n < row_units_of_thread; ++n) {
    const u32 unit = first + u32(n * copying_threads);
    if (unit >= all) continue;
    const u8 *const row = copy.row_of(unit / of_row);
    units[n] = row_unit<bytes>(row, row + u64(unit % of_row) * 16, row + copy.extent[3] * bytes);
  }
#pragma unroll
  for (int n = 0; n < row_units_of_thread; ++n) {
    const u32 unit = first + u32(n * copying_threads);
    if (unit < all) reinterpret_cast<Bits128 *>(copy.to)[unit] = units[n];
  }
}

// Each block copies `transposed_tile` rows and columns, so that reads go down columns and writes along rows. A column
// of the tile is padded by a word, so that a warp finds its 32 elements of a row in 32 banks.
template <int bytes>
SAMITE_INLINE void copy_transposed(const ArrayCopy &copy) {
  using Element = typename ElementBits<bytes>::Type;
  constexpr int size = transposed_tile, lines = copying_threads / size, each = size / lines;
  __shared__ Element tile[size][size + 4 / bytes];
  const u32 rows = u32(copy.extent[2]), columns = u32(copy.extent[3]), down = (rows + (size - 1)) / size,
            across = (columns + (size - 1)) / size;
  const u32 matrix = blockIdx.x / (down * across), second = u32(copy.extent[1]), first_row = blockIdx.x % down * size,
            first_column = blockIdx.x / down % across * size;
  const int own = int(threadIdx.x) % size, line = int(threadIdx.x) / size;
  const u8 *const from = copy.from + i64(matrix % second) * copy.stride[1] + i64(matrix / second) * copy.stride[0];
  Element values[each];
#pragma unroll
  for (int n = 0; n < each; ++n) {
    const u32 row = first_row + u32(own), column = first_column + u32(line + n * lines);
    values[n] = row < rows && column < columns
                    ? load_constant_bits(reinterpret_cast<const Element *>(from + i64(column) * copy.stride[3]) + row)
                    : Element(0);
  }
#pragma unroll
  for (int n = 0; n < each; ++n) tile[line + n * lines][own] = values[n];
  __syncthreads();
  u8 *const to = copy.to + i64(matrix) * rows * copy.row_bytes;
  const u32 column = first_column + u32(own);
#pragma unroll
  for (int n = 0; n < each; ++n)
    if (const u32 row = first_row + u32(line + n * lines); row < rows && column < columns)
      reinterpret_cast<Element *>(to + i64(row) * copy.row_bytes)[column] = tile[own][line + n * lines];
}

}  // namespace samite
