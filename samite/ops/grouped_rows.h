// Rows of a matrix in consecutive groups: `offsets` holds the start of each group and the end of the last one. A block
// has a tile of rows of one group, possibly fewer at the group's end.
//
// Only the device reads the offsets. Block number i along the rows searches for its group: the blocks of group g begin
// at offsets[g] / rows_of_a_tile + g. These numbers increase with g, and leave each group as many blocks as it has
// tiles, or one more, which then exits. So a launch always has rows / rows_of_a_tile + groups blocks along the rows.
#pragma once

#include "samite/lang/attributed.h"
#include "samite/lang/custom_adjoint.h"
#include "samite/lang/print.h"
#include "samite/lang/tile_masked.h"
#include "samite/ops/matmul_plan.h"

#include <bit>
#include <cstdint>
#include <string>

namespace samite::ops {

// `rows` in this many groups, times (inner x columns) each.
struct GroupedShape {
  std::int64_t groups = 1, rows = 0, columns = 0, inner = 0;

  friend bool operator==(const GroupedShape &, const GroupedShape &) = default;
};

// The plan of a grouped product: that of groups of equal heights.
MatmulPlan grouped_plan(const GroupedShape &shape, MatmulFactors factors, const PlanDevice &device);
// A plan with small tiles, whose derived adjoint fits a GPU's shared memory. Its blocks add to gradients atomically.
MatmulPlan differentiated_grouped_plan(const GroupedShape &shape, MatmulFactors factors, const PlanDevice &device);

// The blocks of a launch: the largest number of row tiles, and column tiles.
Extents grouped_blocks(const GroupedShape &shape, const MatmulPlan &plan);

// The rows of a block's tile, which belong to one group: `whole` if the tile is full.
struct RowsOfGroup {
  Int group, first, height;
  bool whole = false;
};

namespace detail {

using Offsets = Array<const std::int32_t, 1>;

// Distinguishes kernels, besides their plan.
struct GroupSearch {
  int steps = 0;         // 2 to the power of this is at least the number of groups
  bool checked = false;  // checks that the offsets increase, within the rows

  static GroupSearch of(std::int64_t groups, bool checked) {
    return {static_cast<int>(std::bit_width(static_cast<std::uint64_t>(groups - 1))), checked};
  }
  friend auto operator<=>(const GroupSearch &, const GroupSearch &) = default;
};

// The tile of block number `number` along the rows; without rows if the block exits.
inline RowsOfGroup rows_of_group(const Offsets &offsets, const Int &number, int tile_rows, const GroupSearch &search,
                                 SourceLocation where) {
  const lang::AttributedCapture at(where);
  const Int groups = offsets.extent(0) - 1;
  const auto first_block = [&](const Int &group) -> Int { return offsets(group) / tile_rows + group; };
  Int group = 0;
  for (int step = search.steps - 1; step >= 0; --step) {
    const Int tried = min(group + (1 << step), groups - 1);
    group = select(first_block(tried) <= number, tried, group);
  }
  const Int begin = offsets(group), end = offsets(group + 1);
  const Int before = number - first_block(group);
  const Int first = begin + before * tile_rows;
  const Int height = select(before >= 0, max(min(end - first, tile_rows), 0), 0);
  return {group, first, height};
}

// One block checks each group.
inline void check_offsets(const std::string &name, const Offsets &offsets, const Int &number, const Int &column,
                          const Int &rows, SourceLocation where) {
  const lang::AttributedCapture at(where);
  if_(number < offsets.extent(0) - 1 && column == 0, [&] {
    const Int begin = offsets(number), end = offsets(number + 1);
    check(begin >= 0 && begin <= end && end <= rows, name + ": group ", number, " is of the rows from ", begin,
          " to before ", end, " of ", rows, "; offsets have to rise from 0 on, to as many rows as there are at most");
  });
}

// The elements of a tile in rows of the group. A mask of one column would be a tile in memory, which needs barriers.
inline Tile<bool> own_rows(const RowsOfGroup &rows, std::int64_t height, std::int64_t width, SourceLocation where) {
  return tile::coordinate({height, width}, 0, where) < rows.height;
}
template <Scalar T>
Tile<T> zero_elsewhere(const RowsOfGroup &rows, const Tile<T> &x, SourceLocation where) {
  if (rows.whole) return x;
  return select(own_rows(rows, x.extent(0), x.extent(1), where), x, tile::zeros<T>({1, 1}, where), where);
}

// A tile of rows of the left factor. Rows after the group's end are loaded, too; they do not affect the group's rows of
// the product. In the adjoint they would: there these rows are zero.
template <Scalar T>
Tile<T> load_rows_of_group(const Array<const T, 2> &array, const RowsOfGroup &rows, const Int &column,
                           std::array<int, 2> extents, SourceLocation where) {
  const auto load = [&] { return tile::load_at(array, {rows.first, column}, {extents[0], extents[1]}, where); };
  if constexpr (!FloatingScalar<T> || sizeof(T) == 1) {
    return load();
  } else {
    const auto primal = [&](const lang::Values &) { return lang::Values{load().value(where)}; };
    const auto replay = [&](const lang::Values &) {
      return lang::Values{zero_elsewhere(rows, load(), where).value(where)};
    };
    const auto adjoint = [&](const lang::Values &, const lang::Values &, const lang::Values &cotangents) {
      const Tile<T> own = zero_elsewhere(rows, Tile<T>::copy(cotangents[0], where), where);
      const ir::Type type = own.type();
      lang::add_tile_to_gradient(array.index(where), lang::tile_origin({rows.first, column}, type, 2, false, where),
                                 own.value(where), where);
      return lang::Values{};
    };
    return Tile<T>::copy(lang::capture_custom({primal, replay, adjoint, {}}, where)[0], where);
  }
}

template <Scalar T>
void store_rows_of_group(const Array<T, 2> &array, const RowsOfGroup &rows, const Int &column, const Tile<T> &tile,
                         SourceLocation where) {
  if (rows.whole) return tile::store_at(array, {rows.first, column}, tile, where);
  tile::store_where(array, {rows.first, column}, own_rows(rows, tile.extent(0), tile.extent(1), where), tile, where);
}

// Runs a block's epilogue for its tile, if it has one, separately for full tiles, so that these are stored without a
// check for each element.
template <class F>
void with_rows_of_group(const RowsOfGroup &rows, int tile_rows, const F &function) {
  RowsOfGroup whole = rows;
  whole.whole = true;
  if_(rows.height == tile_rows, [&] { function(whole); }, [&] { if_(rows.height > 0, [&] { function(rows); }); });
}

}  // namespace detail

}  // namespace samite::ops
