// Tiles from device memory into a block's shared memory.
//
// A window of rows of whole units of 16 bytes that begin at multiples of that is copied past the registers, and is
// there when the copies have been waited for. Any other one is loaded element by element. Where a window reaches beyond
// the array, it is zero.
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

// Which rows and columns of a window lie in the array.
template <int height, int width>
struct TileInside {
  int top, left;
  u32 rows, columns;

  template <class From>
  explicit SAMITE_INLINE_MEMBER TileInside(const TileWindow<From> &window)
      : top(in_tile<height>(-window.row)),
        left(in_tile<width>(-window.column)),
        rows(u32(in_tile<height>(window.rows - window.row) - top)),
        columns(u32(in_tile<width>(window.columns - window.column) - left)) {}

  SAMITE_INLINE_MEMBER bool has(int i, int j) const { return u32(i - top) < rows && u32(j - left) < columns; }

 private:
  template <int size>
  static SAMITE_INLINE_MEMBER int in_tile(i64 place) {
    return place < 0 ? 0 : place > size ? size : int(place);
  }
};

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
  static constexpr bool by_bits = below && (Rows::linear || (down & (down - 1)) == 0);

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

  // Of a window that reaches beyond an array whose rows have whole units: each of the window's lies in it, at its end,
  // or outside.
  template <class T, class From>
  static SAMITE_INLINE_MEMBER void copy_part(T *to, const TileWindow<From> &window) {
    const TileInside<height, width> inside(window);
    const From *const first = window.data + window.row * window.row_stride + window.column;
#pragma unroll 1
    for (int unit = int(thread_of_block()); unit < all; unit += threads) {
      const int i = unit / of_row, j = unit % of_row * each;
      const int elements = inside.has(i, j) ? least(inside.left + int(inside.columns) - j, each) : 0;
      copy_part_ahead(to + Rows::place(i, j), elements > 0 ? first + i * window.row_stride + j : window.data,
                      elements * bytes);
    }
  }
};

// Whether the rows of a window begin at multiples of 16 bytes.
template <class T>
SAMITE_INLINE bool in_whole_units(const T *first, i64 row_stride, i64 column_stride) {
  return column_stride == 1 && row_stride % (16 / int(sizeof(T))) == 0 && u64(first) % 16 == 0;
}

// Those of 4 and 8 bytes are copied as units are; of the others each thread reads several before it needs the first.
template <class Rows, int height, int width, int threads, class T, class From>
SAMITE_INLINE void tile_load_elements(T *to, const TileWindow<From> &window) {
  constexpr int all = height * width, at_a_time = sizeof(T) >= 4 || all <= threads ? 1 : 4;
  const TileInside<height, width> inside(window);
  const From *const first = window.data + window.row * window.row_stride + window.column * window.column_stride;
#pragma unroll 1
  for (int begin = int(thread_of_block()); begin < all; begin += at_a_time * threads) {
    T values[at_a_time];
#pragma unroll
    for (int n = 0; n < at_a_time; ++n) {
      const int e = begin + n * threads, i = e / width, j = e % width;
      const bool there = inside.has(i, j);
      const From *const from = first + i * window.row_stride + j * window.column_stride;
      if constexpr (sizeof(T) >= 4)
        copy_element_ahead<T>(to + Rows::place(i, j), there ? from : window.data, !there);
      else
        values[n] = there ? *from : T(0.0f);
    }
    if constexpr (sizeof(T) < 4)
#pragma unroll
      for (int n = 0; n < at_a_time; ++n)
        if (const int e = begin + n * threads; e < all) to[Rows::place(e / width, e % width)] = values[n];
  }
}

// A window that is not inside of the array, or not in whole units.
template <class Rows, int height, int width, int threads, class T, class From>
SAMITE_INLINE void tile_load_rest(T *to, const TileWindow<From> &window) {
  using Units = TileUnits<Rows, height, width, threads, int(sizeof(T))>;
  if constexpr (Units::whole) {
    const bool array_in_units = u64(window.data) % 16 == 0;
    if (array_in_units && in_whole_units(window.data + window.column, window.row_stride, window.column_stride))
      return Units::copy_part(to, window);
  }
  tile_load_elements<Rows, height, width, threads>(to, window);
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
  tile_load_rest<Rows, height, width, threads>(to, window);
}

// The windows of a loop, which lie one after another at one distance: those that lie inside of the array, and in whole
// units, are loaded with what was found once of the first.
template <class Rows, int height, int width, int threads, class From>
class TileLoads {
 public:
  SAMITE_INLINE_MEMBER TileLoads(const TileWindow<From> &first, i64 row_step, i64 column_step)
      : row_stride_(first.row_stride), advance_(row_step * first.row_stride + column_step), inside_(0), own_(nullptr) {
    if constexpr (Units::whole) {
      const From *const at = first.data + first.row * first.row_stride + first.column * first.column_stride;
      if (column_step % Units::each != 0 || !in_whole_units(at, first.row_stride, first.column_stride)) return;
      own_ = Units::own(at, first.row_stride);
      const i64 below = number_inside(first.row, height, first.rows, row_step),
                beside = number_inside(first.column, width, first.columns, column_step),
                both = below < beside ? below : beside;
      inside_ = both < 0x7fffffff ? i32(both) : 0x7fffffff;
    }
  }

  // So many of them lie inside.
  SAMITE_INLINE_MEMBER i32 inside() const { return inside_; }

  // Loads the next one of those.
  template <class T>
  SAMITE_INLINE_MEMBER void next(T *to) {
    if constexpr (Units::whole) {
      Units::copy(to, own_, row_stride_);
      own_ += advance_;
    }
  }

 private:
  using Units = TileUnits<Rows, height, width, threads, int(sizeof(From))>;

  // How many of them, from the first on, are inside of the array in this dimension.
  static SAMITE_INLINE_MEMBER i64 number_inside(i64 first, i64 size, i64 extent, i64 step) {
    const i64 last = extent - size;
    if (first < 0 || first > last) return 0;
    return step == 0 ? 0x7fffffff : step > 0 ? (last - first) / step + 1 : first / -step + 1;
  }

  i64 row_stride_, advance_;
  i32 inside_;
  const From *own_;  // this thread's part of the next one
};

template <class Rows, int height, int width, int threads, class From>
SAMITE_INLINE TileLoads<Rows, height, width, threads, From> tile_loads(const TileWindow<From> &first, i64 row_step,
                                                                       i64 column_step) {
  return {first, row_step, column_step};
}

// How often a loop runs; none over tiles does so 2^31 times.
template <i64 step>
SAMITE_INLINE i32 turns_of_loop(i64 begin, i64 end) {
  const i64 turns = step > 0 ? (end - begin + step - 1) / step : (begin - end - step - 1) / -step;
  return turns < 0 ? 0 : i32(turns);
}

}  // namespace samite
