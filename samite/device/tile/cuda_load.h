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

// How the threads of a block share the units of a tile of elements that have so many bytes.
template <class Rows, int height, int width, int threads, int bytes>
struct TileUnits {
  static constexpr bool whole = width * bytes % 16 == 0;
  static constexpr int each = 16 / bytes, of_row = width * bytes / 16, all = height * of_row;
  static constexpr int rounds = (all + threads - 1) / threads;
  // Each thread's lie below each other, `down` rows apart; where that is a power of two, rows of one thread have
  // numbers that differ in bits which its first one has not.
  static constexpr bool below = whole && threads % (of_row > 0 ? of_row : 1) == 0;
  static constexpr int down = below ? threads / of_row : 1;
  static constexpr bool by_bits = below && (down & (down - 1)) == 0;

  // Where the window at `first` has this thread's part.
  template <class From>
  static SAMITE_INLINE_MEMBER const From *own(const From *first, i64 row_stride) {
    const int thread = int(thread_of_block());
    return below ? first + thread / of_row * row_stride + thread % of_row * each : first;
  }

  template <class T, class From>
  static SAMITE_INLINE_MEMBER void copy(T *to, const From *own, i64 row_stride) {
    const int thread = int(thread_of_block());
    T *const own_to = by_bits ? to + Rows::place(thread / of_row, thread % of_row * each) : to;
#pragma unroll
    for (int n = 0; n < rounds; ++n) {
      const int unit = thread + n * threads;
      if (all % threads != 0 && unit >= all) break;
      const From *const from =
          below ? own + n * down * row_stride : own + unit / of_row * row_stride + unit % of_row * each;
      if constexpr (by_bits)
        copy_ahead(own_to, Rows::crossed_by(n * down, 0) * bytes, Rows::further_by(n * down, 0) * bytes, from);
      else
        copy_ahead(to + Rows::place(unit / of_row, unit % of_row * each), 0, 0, from);
    }
  }
};

// Whether the rows of a window begin at multiples of 16 bytes.
template <class T>
SAMITE_INLINE bool in_whole_units(const T *first, i64 row_stride, i64 column_stride) {
  return column_stride == 1 && row_stride % (16 / int(sizeof(T))) == 0 && u64(first) % 16 == 0;
}

template <class Rows, int height, int width, int threads, class T, class From>
SAMITE_INLINE void tile_load_elements(T *to, const TileWindow<From> &window) {
  const int thread = int(thread_of_block());
  const From *const first = window.data + window.row * window.row_stride + window.column * window.column_stride;
  const auto load_element = [&](int e) {
    const int i = e / width, j = e % width;
    T value = T(0.0f);
    if (u64(window.row + i) < u64(window.rows) && u64(window.column + j) < u64(window.columns))
      value = first[i * window.row_stride + j * window.column_stride];
    to[Rows::place(i, j)] = value;
  };
  if constexpr (height * width <= threads) {
    if (thread < height * width) load_element(thread);
  } else {
#pragma unroll 1
    for (int e = thread; e < height * width; e += threads) load_element(e);
  }
}

template <class Rows, int height, int width, int threads, class T, class From>
SAMITE_INLINE void tile_load(T *to, const TileWindow<From> &window) {
  using Units = TileUnits<Rows, height, width, threads, int(sizeof(T))>;
  if constexpr (Units::whole) {
    const From *const first = window.data + window.row * window.row_stride + window.column * window.column_stride;
    const bool inside = window.row >= 0 && window.column >= 0 && window.row + height <= window.rows &&
                        window.column + width <= window.columns;
    if (inside && in_whole_units(first, window.row_stride, window.column_stride))
      return Units::copy(to, Units::own(first, window.row_stride), window.row_stride);
  }
  tile_load_elements<Rows, height, width, threads>(to, window);
}

// The windows of a loop, which lie one after another at one distance: what all of them have in common is found once.
template <class Rows, int height, int width, int threads, class From>
class TileLoads {
 public:
  SAMITE_INLINE_MEMBER TileLoads(const TileWindow<From> &first, i64 row_step, i64 column_step)
      : first_(first), row_step_(row_step), column_step_(column_step), whole_(0), own_(nullptr) {
    if constexpr (Units::whole) {
      const From *const at = first.data + first.row * first.row_stride + first.column * first.column_stride;
      own_ = Units::own(at, first.row_stride);
      if (column_step % Units::each != 0 || !in_whole_units(at, first.row_stride, first.column_stride)) return;
      const i64 below = inside(first.row, height, first.rows, row_step),
                beside = inside(first.column, width, first.columns, column_step);
      whole_ = below < beside ? below : beside;
    }
  }

  // The next of them, before which there were `n`.
  template <class T>
  SAMITE_INLINE_MEMBER void next(T *to, i64 n) {
    if (Units::whole && n < whole_) {
      Units::copy(to, own_, first_.row_stride);
      own_ += row_step_ * first_.row_stride + column_step_;
      return;
    }
    TileWindow<From> window = first_;
    window.row += n * row_step_;
    window.column += n * column_step_;
    tile_load_elements<Rows, height, width, threads>(to, window);
  }

 private:
  using Units = TileUnits<Rows, height, width, threads, int(sizeof(From))>;

  // How many of them, from the first on, are inside of the array in this dimension.
  static SAMITE_INLINE_MEMBER i64 inside(i64 first, i64 size, i64 extent, i64 step) {
    const i64 last = extent - size;
    if (first < 0 || first > last) return 0;
    return step == 0 ? 0x7fffffffffffffff : step > 0 ? (last - first) / step + 1 : first / -step + 1;
  }

  TileWindow<From> first_;
  i64 row_step_, column_step_, whole_;
  const From *own_;  // this thread's part of the next one
};

template <class Rows, int height, int width, int threads, class From>
SAMITE_INLINE TileLoads<Rows, height, width, threads, From> tile_loads(const TileWindow<From> &first, i64 row_step,
                                                                       i64 column_step) {
  return {first, row_step, column_step};
}

}  // namespace samite
