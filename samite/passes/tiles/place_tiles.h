// Places each tile of a block in the registers of its threads or in shared memory, and chooses its layout.
//
// Registers hold
//
//   - the sums of a matrix product, if they fit: each warp has a part of them;
//   - a tile that is only used by such products, by loops over its own elements and by reductions of its rows, as long
//     as all of them use the same layout, and tiles computed from it in such loops, while a thread has registers for
//     all that are live together (rows that several warps share are reduced there if the call has memory for their
//     parts);
//   - the first factor of a product of windows (passes/sm90/product_loops.h) that is computed from sums, if warp groups
//   hold
//     whole rows of both, and otherwise it is in panels of shared memory;
//   - per-row values of such sums, replicated in every thread that holds part of the row, if the loops that compute
//     them run the same code in several threads.
//
// All other tiles are in shared memory. Factors of such products that only loads and loops touch have rows at multiples
// of 16 bytes, swizzled or padded so that no two threads access the same bank; if a transpose reads them, at most four
// threads of a warp do. Other tiles are stored row by row.
//
// The pass writes the space and the layout of each `Allocate`, and `sums` of each product. A pure function of a lowered
// kernel. Kernels for a CPU and kernels without tiles are unchanged.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/passes/analysis/architecture.h"

#include <optional>

namespace samite::passes {

ir::Kernel place_tiles(ir::Kernel lowered, const Architecture &architecture);

// The layout in which a block's threads compute a product. Empty if they compute it element by element in shared
// memory: batched products, types that no unit supports, and sums that would take more than 128 registers of a thread.
std::optional<ir::FragmentLayout> fragments(const ir::TileCall &product, int threads, const Architecture &architecture);

// The pattern in which a warp's threads read a factor's rows together.
enum class Reading : std::uint8_t {
  OneRow,       // units of 16 bytes of one row
  PairsOfFour,  // words, or pairs of them, of two units each of 4 rows
  Several,      // also a unit of each of 8 rows, or of every fourth of 32
};

// Rows without bank conflicts. They are swizzled if possible, although a number of units that avoids conflicts by
// itself would leave a thread's reads at constant distances, which cost no registers: rows that begin within a line of
// 128 bytes take longer to copy (4096³ on an H200: bfloat16 325 TFLOP/s, 401 swizzled; tf32 192, 209 swizzled).
constexpr ir::RowLayout factor_rows(std::int64_t columns, std::size_t bytes, Reading reading) {
  const std::int64_t own = (columns * static_cast<std::int64_t>(bytes) + 15) / 16;
  if (reading == Reading::OneRow) return {columns, own, false};
  if (own == 2 || own == 4 || own % 8 == 0) return {columns, own, true};
  return {columns, reading == Reading::PairsOfFour ? own + (6 - own % 4) % 4 : own | 1, false};
}

// 4-byte registers of each thread for a tile.
std::int64_t registers_of(const ir::FragmentLayout &layout, ScalarType element);

}  // namespace samite::passes
