// Tiles in the registers of a block's threads; each thread has groups of 4 neighbours of a row. This header loads them
// from device memory and reduces them, and reduces the rows of products' sums as well. Loops over their elements read
// and write arrays by its functions, up to 16 bytes at once if the array's elements are contiguous.
#pragma once

#include "samite/device/tile/cuda_load.h"
#include "samite/device/tile/fragments.h"
#include "samite/device/tile/steps.h"

namespace samite {

// Pieces of one row by 128 columns.
struct SpreadPieces {
  static constexpr int rows = 1, columns = 128, registers = 4, threads = 32;
  static SAMITE_INLINE_MEMBER int thread() { return lane_of_warp(); }
  static SAMITE_INLINE_MEMBER constexpr int row(int thread, int r) { return spread_row(thread, r); }
  static SAMITE_INLINE_MEMBER constexpr int column(int thread, int r) { return spread_column(thread, r); }
};

// Whether this many elements from an address on can be loaded and stored together.
template <int count, class T>
SAMITE_INLINE bool whole_units(const T *p) {
  return u64(p) % alignof(Pack<T, count>) == 0;
}

template <bool constant, int count, class T>
SAMITE_INLINE Pack<T, count> load_together(const T *p) {
  if constexpr (constant)
    return load_constant_pack<count>(p);
  else
    return load_pack<count>(p);
}
template <bool constant, class T>
SAMITE_INLINE Register<T> load_one(const T *p) {
  if constexpr (constant)
    return load_constant(p);
  else
    return Register<T>(*p);
}

// `constant`: nothing writes to the array while the kernel runs. `in_units`: elements are contiguous, and each row of
// the window begins with a unit of 16 bytes.
template <class Layout, bool constant, bool in_units, class V, class From>
SAMITE_INLINE void tile_load_spread(V *to, const TileWindow<From> &window) {
  const bool inside = window.row >= 0 && window.column >= 0 && window.row + Layout::rows <= window.rows &&
                      window.column + Layout::columns <= window.columns;
  if constexpr (Layout::columns % 4 == 0) {
    const From *const first = window.data + window.row * window.row_stride + window.column;
    const bool rows_aligned = Layout::rows == 1 || window.row_stride % 4 == 0;
    if (inside && (in_units || (window.column_stride == 1 && rows_aligned && whole_units<4>(first)))) {
#pragma unroll
      for (int r = 0; r < Layout::registers; r += 4) {
        if (!Layout::holds(r)) continue;
        const auto four = load_together<constant, 4>(
            static_cast<const From *>(first + (Layout::row(r) * window.row_stride + Layout::column(r))));
#pragma unroll
        for (int k = 0; k < 4; ++k) to[r + k] = V(four.at[k]);
      }
      return;
    }
  }
  // A loop that is not unrolled: otherwise the addresses of all elements would take more registers than the elements.
#pragma unroll 1
  for (int first = 0; first < Layout::registers; first += 4) {
    V four[4];
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      const int r = first + k;
      const i64 row = window.row + Layout::row(r), column = window.column + Layout::column(r);
      const bool here = row >= 0 && row < window.rows && column >= 0 && column < window.columns;
      four[k] =
          Layout::holds(r) && here ? V(window.data[row * window.row_stride + column * window.column_stride]) : V(0);
    }
#pragma unroll
    for (int r = 0; r < Layout::registers; ++r)
      if (r / 4 * 4 == first) to[r] = four[r % 4];
  }
}

template <bool known>
struct Whether {
  static constexpr bool value = known;
};

// A loop over elements reads and writes an array in groups of `count` of a row: together, or one by one.
template <class T, int count, bool together>
struct StoreTogether {
  Pack<T, count> values;

  SAMITE_INLINE_MEMBER void put(int k, T *p, T value) {
    if constexpr (together) {
      values.at[k] = value;
      if (k == count - 1) store_pack_at_once(p - k, values);
    } else {
      *p = value;
    }
  }
};

// The same for a tile in the block's memory, in which such elements are contiguous.
template <class T, int count>
struct StoreInBlock {
  Pack<T, count> values;

  SAMITE_INLINE_MEMBER void put(int k, T *p, T value) {
    values.at[k] = value;
    if (k == count - 1) *reinterpret_cast<Pack<T, count> *>(p - k) = values;
  }
};
template <class T, int count>
struct LoadInBlock {
  Pack<T, count> values;

  SAMITE_INLINE_MEMBER Register<T> get(int k, const T *p) {
    if (k == 0) values = load_pack<count>(p);
    return Register<T>(values.at[k]);
  }
};

template <class T, int count, bool constant, bool together>
struct LoadTogether {
  Pack<T, count> values;

  // All together, if they are there. Only the load is under that condition, so that the next load need not wait.
  SAMITE_INLINE_MEMBER void load_if(bool there, const T *p) {
    values = {};
    if (there) values = load_together<constant, count>(p);
  }
  SAMITE_INLINE_MEMBER Register<T> at(int k) const { return Register<T>(values.at[k]); }

  SAMITE_INLINE_MEMBER Register<T> get(int k, const T *p) {
    if constexpr (together) {
      if (k == 0) values = load_together<constant, count>(p);
      return Register<T>(values.at[k]);
    } else {
      return load_one<constant>(p);
    }
  }
};

// For a loop over a thread's elements that is not unrolled: each iteration uses the elements at the front and then
// rotates. After all iterations each element is back in its place.
template <int by, int count, class T>
SAMITE_INLINE void rotate(T (&elements)[count]) {
  T front[by];
#pragma unroll
  for (int r = 0; r < by; ++r) front[r] = elements[r];
#pragma unroll
  for (int r = by; r < count; ++r) elements[r - by] = elements[r];
#pragma unroll
  for (int r = 0; r < by; ++r) elements[count - by + r] = front[r];
}

// Reduces the partial results of several warps for each row, by all threads of the block.
template <class Step, class V, int rows, int parts, int threads, class R, class Part>
SAMITE_INLINE void reduce_parts(R *out, const Part *scratch) {
  __syncthreads();
  for (int row = int(flat_thread()); row < rows; row += threads) {
    V sum = V(scratch[row * parts]);
#pragma unroll
    for (int p = 1; p < parts; ++p) sum = Step::apply(sum, V(scratch[row * parts + p]));
    out[row] = R(sum);
  }
}

// From a thread's values for its rows, selects the one for the row of register `r`. Registers cannot be indexed with a
// computed number.
template <class Layout, class V, int count>
SAMITE_INLINE V of_row(const V (&rows)[count], int r) {
  using Pieces = typename Layout::Unit;
  const int row = register_of_row(r, Layout::pieces_across, Pieces::registers, Pieces::together);
  V value = rows[0];
#pragma unroll
  for (int n = 1; n < count; ++n)
    if (row == n) value = rows[n];
  return value;
}

// The rows of a product that a thread has parts of.
template <class Layout>
struct RowsOfThread {
  using Pieces = typename Layout::Unit;
  static constexpr int of_piece = Pieces::registers / Pieces::together, count = Layout::pieces_down * of_piece;

  // The first of its registers that belong to such a row.
  static SAMITE_INLINE_MEMBER constexpr int first(int row) {
    return row / of_piece * Layout::pieces_across * Pieces::registers + row % of_piece * Pieces::together;
  }
  // The partial result of the threads of its warp, in each of them.
  template <class Step, class V>
  static SAMITE_INLINE_MEMBER V reduce(const V *in, int row) {
    V sum = Step::template first<V>();
#pragma unroll
    for (int piece = 0; piece < Layout::pieces_across; ++piece)
#pragma unroll
      for (int k = 0; k < Pieces::together; ++k)
        if (const int r = first(row) + piece * Pieces::registers + k;
            Layout::whole_columns || Layout::column(r) < Layout::columns)
          sum = Step::apply(sum, in[r]);
#pragma unroll
    for (u32 distance = Pieces::first_lane; distance < Pieces::end_lane; distance *= 2)
      sum = Step::apply(sum, V(shuffle_xor(sum, distance)));
    return sum;
  }
};

// Reduces each row of a product that the threads hold. `scratch` has one element for each row and warp.
template <class Step, class Layout, class R, class V, class Part>
SAMITE_INLINE void tile_reduce_sums(R *out, const V *in, Part *scratch) {
  using Pieces = typename Layout::Unit;
  using Rows = RowsOfThread<Layout>;
  constexpr int parts = Layout::across_warps;
  const int lane = lane_of_warp(), part = Layout::warp() % parts;
#pragma unroll
  for (int row = 0; row < Rows::count; ++row) {
    const V sum = Rows::template reduce<Step>(in, row);
    const int place = Layout::row(Rows::first(row));
    if ((lane & (Pieces::end_lane - Pieces::first_lane)) != 0 || (!Layout::whole_rows && place >= Layout::rows))
      continue;
    if (parts == 1)
      out[place] = R(sum);
    else
      scratch[place * parts + part] = Part(sum);
  }
  if (parts > 1) reduce_parts<Step, V, Layout::rows, parts, Layout::warps * Pieces::threads>(out, scratch);
}
template <class Step, class Layout, class R, class V>
SAMITE_INLINE void tile_reduce_sums(R *out, const V *in) {
  static_assert(Layout::across_warps == 1, "several warps need memory for their parts");
  tile_reduce_sums<Step, Layout>(out, in, out);
}

// Distributes columns among the lanes that share them, whose numbers differ in the bits from `distance` on. As long as
// the number of columns is even, each lane keeps half of them and passes on its values of the others. If it is odd, one
// of two lanes `keeps` all. Returns the first column that is kept; afterwards there are `columns_kept`.
SAMITE_INLINE constexpr int columns_kept(int columns, int distance) {
  return distance >= 32 ? columns : columns_kept(columns % 2 == 0 ? columns / 2 : columns, distance * 2);
}
template <class Step, int distance, int columns, class V, int count>
SAMITE_INLINE int share_columns(V (&values)[count], int first, bool &keeps) {
  if constexpr (distance >= 32) return first;
  constexpr bool halved = columns % 2 == 0;
  constexpr int kept = halved ? columns / 2 : columns, apart = halved ? kept : 0;
  const bool upper = lane_of_warp() & distance;
  if (!halved) keeps = keeps && !upper;
#pragma unroll
  for (int c = 0; c < kept; ++c) {
    const V mine = upper ? values[c + apart] : values[c], given = upper ? values[c] : values[c + apart];
    values[c] = Step::apply(mine, V(shuffle_xor(given, u32(distance))));
  }
  return share_columns<Step, (distance < 32 ? distance * 2 : 32), kept>(values, first + (upper ? apart : 0), keeps);
}

// Reduces each column of a product that the threads hold. Warps with parts of the same columns take turns, in order,
// with `sync` in between, which all threads with sums call.
template <class Step, class Layout, class R, class V, class Sync>
SAMITE_INLINE void tile_reduce_columns(R *out, const V *in, const Sync &sync) {
  using Pieces = typename Layout::Unit;
  static_assert(Pieces::first_lane == 1, "lanes beside each other have parts of a row");
  constexpr int together = Pieces::together, columns = Layout::pieces_across * together,
                of_piece = Pieces::registers / together;
  V values[columns];
#pragma unroll
  for (int c = 0; c < columns; ++c) {
    values[c] = Step::template first<V>();
#pragma unroll
    for (int row = 0; row < Layout::pieces_down * of_piece; ++row) {
      const int r = (row / of_piece * Layout::pieces_across + c / together) * Pieces::registers +
                    row % of_piece * together + c % together;
      if (Layout::whole_rows || Layout::row(r) < Layout::rows) values[c] = Step::apply(values[c], in[r]);
    }
  }
  bool keeps = true;
  const int first = share_columns<Step, Pieces::end_lane, columns>(values, 0, keeps);
  constexpr int warps_of_piece = Pieces::threads / 32, turns = Layout::warps / Layout::across_warps * warps_of_piece;
  const int own_turn =
      Layout::warp() / Layout::across_warps * warps_of_piece + int(flat_thread()) / 32 % warps_of_piece;
#pragma unroll 1
  for (int turn = 0; turn < turns; ++turn) {
    if (turn > 0) sync();
    if (turn != own_turn || !keeps) continue;
#pragma unroll
    for (int k = 0; k < columns_kept(columns, Pieces::end_lane); ++k) {
      const int c = first + k, column = Layout::column(c / together * Pieces::registers + c % together);
      if (!Layout::whole_columns && column >= Layout::columns) continue;
      out[column] = turn == 0 ? R(values[k]) : R(Step::apply(V(out[column]), values[k]));
    }
  }
}

// Reduces each row, like tile_reduce_sums, into the registers of the threads that have the rows.
template <class Step, class Layout, int count, class R, class V>
SAMITE_INLINE void tile_reduce_rows(R (&out)[count], const V *in) {
  static_assert(Layout::across_warps == 1 && RowsOfThread<Layout>::count == count, "a warp has whole rows");
#pragma unroll
  for (int row = 0; row < count; ++row) out[row] = R(RowsOfThread<Layout>::template reduce<Step>(in, row));
}

// Reduces a thread's elements, with those of the others in its warp.
template <class Step, class V>
SAMITE_INLINE V reduce_in_warp(V value) {
#pragma unroll
  for (u32 distance = 16; distance > 0; distance /= 2) value = Step::apply(value, V(shuffle_xor(value, distance)));
  return value;
}

// Reduces all elements, for each thread: each thread reduces the warps' results on its own. `scratch` has one element
// for each warp, and is read until the threads' next barrier.
template <class Step, class Layout, class R, class V, class Part>
SAMITE_INLINE void tile_reduce_everywhere(R (&out)[1], const V *in, Part *scratch) {
  V sum = Step::template first<V>();
#pragma unroll
  for (int r = 0; r < Layout::registers; ++r)
    if (Layout::holds(r)) sum = Step::apply(sum, in[r]);
  sum = reduce_in_warp<Step>(sum);
  const int lane = lane_of_warp();
  if (lane == 0) scratch[flat_thread() / 32] = Part(sum);
  __syncthreads();
  out[0] = R(reduce_in_warp<Step>(lane < Layout::warps ? V(scratch[lane]) : Step::template first<V>()));
}

// Reduces all elements, or each row. `scratch` has one element for each row and warp.
template <class Step, class Layout, bool all, class R, class V, class Part>
SAMITE_INLINE void tile_reduce_spread(R *out, const V *in, Part *scratch) {
  constexpr int kept = all ? 1 : Layout::pieces_down, rows = all ? 1 : Layout::rows;
  constexpr int parts = all ? Layout::warps : Layout::across_warps;
  const int thread = int(flat_thread()), part = thread / 32 % parts;
#pragma unroll
  for (int row = 0; row < kept; ++row) {
    V sum = Step::template first<V>();
#pragma unroll
    for (int r = 0; r < Layout::registers; ++r)
      if ((all || r / (Layout::pieces_across * 4) == row) && Layout::holds(r)) sum = Step::apply(sum, in[r]);
    sum = reduce_in_warp<Step>(sum);
    const int place = all ? 0 : Layout::first_row() + row;
    if (thread % 32 != 0 || place >= rows) continue;
    if (parts == 1)
      out[place] = R(sum);
    else
      scratch[place * parts + part] = Part(sum);
  }
  if (parts > 1) reduce_parts<Step, V, rows, parts, Layout::warps * 32>(out, scratch);
}

}  // namespace samite
