// Tiles from device memory into a block's shared memory.
//
// If the rows of a window are whole units of 16 bytes, at multiples of 16 bytes, asynchronous copies load it to shared
// memory without registers. The window has arrived when the copies have been waited for. Any other window is loaded
// element by element. Elements beyond the array are zero.
#pragma once

#include "samite/device/cuda/memory.h"
#include "samite/device/tile/rows.h"

namespace samite {

// An array of two dimensions, and the first element of the tile.
template <class T>
struct TileWindow {
  T *data;
  i64 row, column, rows, columns, row_stride, column_stride;

  // The address of element (i, j) of the tile, and whether it is inside the array.
  SAMITE_INLINE_MEMBER T *at(int i, int j) const {
    return data + (row + i) * row_stride + (column + j) * column_stride;
  }
  SAMITE_INLINE_MEMBER bool has(int i, int j) const {
    return u64(row + i) < u64(rows) && u64(column + j) < u64(columns);
  }
};

template <class T>
SAMITE_INLINE TileWindow<T> tile_window(T *data, i64 row, i64 column, i64 rows, i64 columns, i64 row_stride,
                                        i64 column_stride) {
  return {data, row, column, rows, columns, row_stride, column_stride};
}

// The part of a tile that is inside the array: `has` as above, in 32 bits, for many elements of one tile.
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

// How the threads of a block share the units of a tile whose elements have `bytes` bytes. A tile with at most one
// element for each thread is not copied in units.
template <class Rows, int height, int width, int threads, int bytes>
struct TileUnits {
  static constexpr int each = 16 / bytes;
  static constexpr bool whole = width % each == 0 && (bytes < 4 || height * width > threads);
  static constexpr int of_row = width / each, all = height * of_row;
  // `below`: each unit of a thread is `down` rows below its previous unit. `by_bits`: also, the number of those rows
  // has no bit in common with the row of the thread's first unit, so that the offsets of its units are constants.
  static constexpr bool below = whole && threads % (of_row > 0 ? of_row : 1) == 0;
  static constexpr int down = below ? threads / of_row : 1;
  static constexpr bool by_bits = below && (Rows::linear || (down & (down - 1)) == 0);

  // The address of this thread's first unit in the window that begins at `first`.
  template <class From>
  static SAMITE_INLINE_MEMBER const From *own(const From *first, i64 row_stride) {
    const int unit = int(flat_thread());
    return below ? first + i64(unit / of_row) * row_stride + unit % of_row * each : first;
  }

  // All units; `own` as above.
  template <class T, class From>
  static SAMITE_INLINE_MEMBER void copy(T *to, const From *own, i64 row_stride) {
    const int first_unit = int(flat_thread());
    T *const first_place = to + Rows::place(first_unit / of_row, first_unit % of_row * each);
#pragma unroll
    for (int n = 0; n * threads < all; ++n) {
      const int unit = first_unit + n * threads;
      if (n >= all / threads && unit >= all) continue;
      const From *const from =
          own + (below ? n * down : unit / of_row) * row_stride + (below ? 0 : unit % of_row * each);
      if constexpr (by_bits)
        copy_ahead(first_place, Rows::swizzled_by(n * down, 0) * bytes, Rows::further_by(n * down, 0) * bytes, from);
      else
        copy_ahead(to + Rows::place(unit / of_row, unit % of_row * each), 0, 0, from);
    }
  }

  // Copies the `n`-th unit of each thread, if `there`.
  static constexpr int of_thread = (all + threads - 1) / threads;
  template <class T, class From>
  static SAMITE_INLINE_MEMBER void copy_one(int n, T *to, const From *own, i64 row_stride, bool there) {
    const int first_unit = int(flat_thread()), unit = first_unit + n * threads;
    if (n >= all / threads) there = there && unit < all;
    const From *const from = own + (below ? n * down : unit / of_row) * row_stride + (below ? 0 : unit % of_row * each);
    if constexpr (by_bits)
      copy_ahead_if(there, to + Rows::place(first_unit / of_row, first_unit % of_row * each),
                    Rows::swizzled_by(n * down, 0) * bytes, Rows::further_by(n * down, 0) * bytes, from);
    else
      copy_ahead_if(there, to + Rows::place(unit / of_row, unit % of_row * each), 0, 0, from);
  }

  // Units that are in the array, or begin in it; the others are zeros.
  template <class T, class From>
  static SAMITE_INLINE_MEMBER void copy_part(T *to, const From *first, i64 row_stride,
                                             const TileInside<height, width> &inside) {
#pragma unroll 1
    for (u32 unit = flat_thread_again(); unit < all; unit += threads) {
      const int i = int(unit / of_row), j = int(unit % of_row) * each;
      const int elements = inside.has(i, j) ? least(inside.left + int(inside.columns) - j, each) : 0;
      copy_part_ahead(to + Rows::place(i, j), first + i * row_stride + j, elements * bytes);
    }
  }
};

// Whether the rows of a window begin at multiples of 16 bytes.
template <class T>
SAMITE_INLINE bool in_whole_units(const T *first, i64 row_stride, i64 column_stride) {
  return column_stride == 1 && row_stride % (16 / int(sizeof(T))) == 0 && u64(first) % 16 == 0;
}

// Copies element `e`, if the tile has it: asynchronously if it has 4 or 8 bytes.
template <class Rows, int width, class T, class From, class Inside>
SAMITE_INLINE void tile_load_element(T *to, const TileWindow<From> &window, const Inside &inside, u32 e) {
  const int i = int(e / width), j = int(e % width);
  const From *const from = window.at(i, j);
  if constexpr (sizeof(T) >= 4)
    copy_element_ahead<T>(to + Rows::place(i, j), from, !inside.has(i, j));
  else
    to[Rows::place(i, j)] = inside.has(i, j) ? *from : T(0.0f);
}

// Elements that are not copied asynchronously: each thread reads several before it needs the first.
template <class Rows, int height, int width, int threads, class T, class From>
SAMITE_INLINE void tile_load_elements(T *to, const TileWindow<From> &window) {
  constexpr int all = height * width;
  if constexpr (all <= threads) {
    if (const u32 thread = flat_thread(); thread < all) tile_load_element<Rows, width>(to, window, window, thread);
  } else if constexpr (sizeof(T) >= 4) {
    const TileInside<height, width> inside(window);
#pragma unroll 1
    for (u32 e = flat_thread_again(); e < all; e += threads) tile_load_element<Rows, width>(to, window, inside, e);
  } else {
    const TileInside<height, width> inside(window);
    const From *const first = window.at(0, 0);
    constexpr int at_a_time = 4;
#pragma unroll 1
    for (u32 begin = flat_thread_again(); begin < all; begin += at_a_time * threads) {
      T values[at_a_time];
#pragma unroll
      for (int n = 0; n < at_a_time; ++n) {
        const u32 e = begin + n * threads;
        const int i = int(e / width), j = int(e % width);
        values[n] = inside.has(i, j) ? first[i * window.row_stride + j * window.column_stride] : T(0.0f);
      }
#pragma unroll
      for (int n = 0; n < at_a_time; ++n)
        if (const u32 e = begin + n * threads; all % (at_a_time * threads) == 0 || e < all)
          to[Rows::place(int(e / width), int(e % width))] = values[n];
    }
  }
}

// `in_units`: the window, and each of its rows inside of the array, is known to begin at a multiple of 16 bytes.
template <class Rows, int height, int width, int threads, bool in_units, class T, class From>
SAMITE_INLINE void tile_load(T *to, const TileWindow<From> &window) {
  using Units = TileUnits<Rows, height, width, threads, int(sizeof(T))>;
  if constexpr (Units::whole) {
    const TileInside<height, width> inside(window);
    const From *const first = window.at(0, 0);
    if (in_units || (in_whole_units(first, window.row_stride, window.column_stride) && inside.left % Units::each == 0))
      return Units::copy_part(to, first, window.row_stride, inside);
  }
  if constexpr (!in_units || !Units::whole) tile_load_elements<Rows, height, width, threads>(to, window);
}

// The windows of a loop, at constant distances. For windows that are inside the array and in whole units, addresses and
// checks are computed once, for the first.
template <class Rows, int height, int width, int threads, bool in_units, class From>
class TileLoads {
  using Units = TileUnits<Rows, height, width, threads, int(sizeof(From))>;

 public:
  SAMITE_INLINE_MEMBER TileLoads(const TileWindow<From> &first, i64 row_step, i64 column_step)
      : row_stride_(first.row_stride), advance_(row_step * first.row_stride + column_step), inside_(0), own_(nullptr) {
    if constexpr (Units::whole) {
      const From *const at = first.at(0, 0);
      if (!in_units && (column_step % Units::each != 0 || !in_whole_units(at, first.row_stride, first.column_stride)))
        return;
      own_ = Units::own(at, first.row_stride);
      const i64 below = number_inside(first.row, height, first.rows, row_step),
                beside = number_inside(first.column, width, first.columns, column_step),
                both = below < beside ? below : beside;
      inside_ = both < 0x7fffffff ? i32(both) : 0x7fffffff;
    }
  }

  // The number of windows, from the first on, that are inside the array.
  SAMITE_INLINE_MEMBER i32 inside() const { return inside_; }

  // Loads the next of these windows.
  template <class T>
  SAMITE_INLINE_MEMBER void next(T *to) {
    if constexpr (Units::whole) {
      Units::copy(to, own_, row_stride_);
      own_ += advance_;
    }
  }
  // The same in parts, `parts` of them, if `there`; `advance` moves on to the next window.
  static constexpr int parts = Units::whole ? Units::of_thread : 0;
  template <class T>
  SAMITE_INLINE_MEMBER void part(int n, T *to, bool there) const {
    if constexpr (Units::whole) Units::copy_one(n, to, own_, row_stride_, there);
  }
  SAMITE_INLINE_MEMBER void advance() { own_ += advance_; }

 private:
  // The number of windows, from the first on, that are inside the array in one dimension.
  static SAMITE_INLINE_MEMBER i64 number_inside(i64 first, i64 size, i64 extent, i64 step) {
    const i64 last = extent - size;
    if (first < 0 || first > last) return 0;
    return step == 0 ? 0x7fffffff : step > 0 ? (last - first) / step + 1 : first / -step + 1;
  }

  i64 row_stride_, advance_;
  i32 inside_;
  const From *own_;  // this thread's first unit in the next window
};

template <class Rows, int height, int width, int threads, bool in_units, class From>
SAMITE_INLINE TileLoads<Rows, height, width, threads, in_units, From> tile_loads(const TileWindow<From> &first,
                                                                                 i64 row_step, i64 column_step) {
  return {first, row_step, column_step};
}

// The number of iterations of a loop. No loop over tiles has 2^31.
template <i64 step>
SAMITE_INLINE i32 turns_of_loop(i64 begin, i64 end) {
  const i64 turns = step > 0 ? (end - begin + step - 1) / step : (begin - end - step - 1) / -step;
  return turns < 0 ? 0 : i32(turns);
}

}  // namespace samite
