// Stores of 16-bit elements from the sums of tensor cores, and additions of these, 16 bytes at once.
//
// In each piece of 8 columns, four neighbouring threads hold a row, two elements each. They exchange the rows of four
// pieces, so that each thread has a whole row of one piece. They use shuffles: through shared memory (`stmatrix`, then
// loads), an H200 is no faster for long sums and 5 to 10 % slower for short ones, since a warp waits for each exchange.
#pragma once

#include "samite/device/tile/cuda_add_together.h"

namespace samite {

// Transposes the words of four threads as a matrix of four rows; the first thread's number is a multiple of 4.
SAMITE_INLINE void transpose_in_four(u32 (&words)[4], int thread) {
  const bool odd = thread % 2 != 0, high = thread / 2 % 2 != 0;
#pragma unroll
  for (int k = 0; k < 4; k += 2) {
    const u32 other = shuffle_xor(odd ? words[k] : words[k + 1], 1);
    words[k] = odd ? other : words[k];
    words[k + 1] = odd ? words[k + 1] : other;
  }
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    const u32 other = shuffle_xor(high ? words[k] : words[k + 2], 2);
    words[k] = high ? other : words[k];
    words[k + 2] = high ? words[k + 2] : other;
  }
}

// A loop over a thread's elements, from the first on, stores each of them in an array whose columns are contiguous
// within a row. `together`: all of them, and rows begin at multiples of 16 bytes; the warp's threads call this
// together. Otherwise one by one.
template <class T, bool together>
struct StoreQuads {
  static_assert(sizeof(T) == 2);
  Register<T> left;
  Pack<u32, 4> words[2];

  // Element `r`, at `p`: two of a row, two of the row 8 below, and then those of the next piece.
  SAMITE_INLINE_MEMBER void put(int r, T *p, Register<T> value) {
    if constexpr (together) {
      if (gathers(r, value)) store_pack(of_row(p), row(r));
    } else {
      *p = T(value);
    }
  }

  // Whether the thread then has a piece's row, from `of_row(p)` on.
  SAMITE_INLINE_MEMBER bool gathers(int r, Register<T> value) {
    const int piece = r / 4 % 4;
    if (r % 2 == 0) {
      left = value;
      return false;
    }
    Pack<u32, 4> &row = words[r / 2 % 2];
    row.at[piece] = T::Bits::narrow(left, value);
    if (piece < 3) return false;
    transpose_in_four(row.at, int(flat_thread() % 4));
    return true;
  }
  SAMITE_INLINE_MEMBER Pack<T, 8> row(int r) const { return __builtin_bit_cast(Pack<T, 8>, words[r / 2 % 2]); }
  // `p` is in the last piece; this thread has the row of piece `thread`.
  static SAMITE_INLINE_MEMBER T *of_row(T *p) {
    const int thread = int(flat_thread() % 4);
    return p - (3 * 8 + thread * 2 + 1) + thread * 8;
  }
};

// A loop over a thread's elements adds each of them to one of an array. Combines StoreQuads and AddTogether.
template <class T, int registers, bool together>
struct AddQuads {
  static constexpr int of_quad = 16;  // elements of four pieces
  StoreQuads<T, together> quads;
  Additions<T, 8, registers / 8> additions;

  SAMITE_INLINE_MEMBER void put(int r, T *p, Register<T> value) {
    if constexpr (together) {
      // Each quad has two rows, which become complete one after the other.
      if (quads.gathers(r, value)) additions.put(r / of_quad * 2 + r / 2 % 2, quads.of_row(p), quads.row(r));
    } else {
      *p += value;
    }
  }
};

}  // namespace samite
