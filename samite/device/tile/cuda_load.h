// Tiles from device memory into a block's shared memory.
//
// A window that lies wholly inside of its array, in rows of whole units of 16 bytes that begin at multiples of that, is
// copied past the registers, and is there when the copies have been waited for. Any other one is loaded element by
// element, zero where it reaches beyond the array.
#pragma once

#include "samite/device/cuda/memory.h"
#include "samite/device/tile/rows.h"

namespace samite {

// A part of an array, and the element of it where the tile begins.
template <class T>
struct TileWindow {
  T *data;
  i64 row, column, rows, columns, row_stride, column_stride;
};

template <class T>
SAMITE_INLINE TileWindow<T> tile_window(T *data, i64 row, i64 column, i64 rows, i64 columns, i64 row_stride,
                                        i64 column_stride) {
  return {data, row, column, rows, columns, row_stride, column_stride};
}

template <class Rows, int rows, int columns, int threads, class T, class From>
SAMITE_INLINE void tile_load(T *to, const TileWindow<From> &window) {
  const int thread = int(thread_of_block());
  const From *const first = window.data + window.row * window.row_stride + window.column * window.column_stride;
  if constexpr (columns * sizeof(T) % 16 == 0) {
    constexpr int each = 16 / int(sizeof(T)), units = columns / each;
    const bool inside = window.row >= 0 && window.column >= 0 && window.row + rows <= window.rows &&
                        window.column + columns <= window.columns;
    const bool aligned = window.column_stride == 1 && window.row_stride % each == 0 && u64(first) % 16 == 0;
    if (inside && aligned) {
      constexpr int rounds = (rows * units + threads - 1) / threads;
      constexpr bool down_columns = threads % units == 0;  // each thread's units lie below each other
      const From *const own = first + thread / units * window.row_stride + thread % units * each;
#pragma unroll
      for (int n = 0; n < rounds; ++n) {
        const int unit = thread + n * threads;
        if (rows * units % threads != 0 && unit >= rows * units) break;
        const From *const from = down_columns ? own + n * (threads / units) * window.row_stride
                                              : first + unit / units * window.row_stride + unit % units * each;
        copy_ahead(to + Rows::place(unit / units, unit % units * each), from);
      }
      return;
    }
  }
  const auto load_element = [&](int e) {
    const int i = e / columns, j = e % columns;
    T value = T(0.0f);
    if (u64(window.row + i) < u64(window.rows) && u64(window.column + j) < u64(window.columns))
      value = first[i * window.row_stride + j * window.column_stride];
    to[Rows::place(i, j)] = value;
  };
  if constexpr (rows * columns <= threads) {
    if (thread < rows * columns) load_element(thread);
  } else {
#pragma unroll 1
    for (int e = thread; e < rows * columns; e += threads) load_element(e);
  }
}

}  // namespace samite
