// Where each tile of a block is: in the registers of its threads or in shared memory, and in what layout.
//
// A product of matrices whose sums fit into its threads' registers is computed there, each warp having a part of the
// sums. A tile that nothing but such products, loops over its own elements and reductions of its rows touch stays there
// for good, as long as all of these want it in one layout; loops over its elements then go through each thread's own.
// So do tiles that follow from it in such loops, while a thread has registers for those that are needed at one time. A
// row that several warps share is reduced there where the call has memory for their parts. The first factor of a
// product of windows (passes/product_loops.h) that is made of sums stays there as well, where groups of warps have
// whole rows of both, and else lies in panels. So do tiles of one value for each row of such sums, which all threads
// have that have a part of the row: where loops that do the same in several threads make them. All other tiles are in
// shared memory: factors of such products, where nothing else than loads and loops touch them, with rows at multiples
// of 16 bytes, such that no two threads meet in a bank; where a transpose reads them, likewise, so that four threads of
// a warp meet at most; the rest row by row.
//
// This writes the space and the layout of each `Allocate`, and of each product `sums`. A pure function of a lowered
// kernel; of one for a CPU, and of one that has no tiles, the kernel itself.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/passes/architecture.h"

#include <optional>

namespace samite::passes {

ir::Kernel place_tiles(ir::Kernel lowered, const Architecture &architecture);

// How the threads of a block compute a product. Nothing where they do it element by element in shared memory: products
// in batches, of types that no unit takes, and those whose sums would take more than 128 registers of a thread.
std::optional<ir::FragmentLayout> fragments(const ir::TileCall &product, int threads, const Architecture &architecture);

// What the threads of a warp read of a factor's rows at one time.
enum class Reading : std::uint8_t {
  OneRow,       // units of 16 bytes of one row
  PairsOfFour,  // words, or pairs of them, of two units each of 4 rows
  Several,      // also a unit of each of 8 rows, or of every fourth of 32
};

// Rows such that no two threads meet in a bank. Where they can be swizzled they are, although a number of units that
// does it by itself would leave what a thread reads at constant distances, which cost no registers: rows that begin in
// the middle of a line of 128 bytes take longer to be copied to (4096³ on an H200: bfloat16 325 TFLOP/s, 401 swizzled;
// tf32 192, 209 swizzled).
constexpr ir::RowLayout factor_rows(std::int64_t columns, std::size_t bytes, Reading reading) {
  const std::int64_t own = (columns * static_cast<std::int64_t>(bytes) + 15) / 16;
  if (reading == Reading::OneRow) return {columns, own, false};
  if (own == 2 || own == 4 || own % 8 == 0) return {columns, own, true};
  return {columns, reading == Reading::PairsOfFour ? own + (6 - own % 4) % 4 : own | 1, false};
}

// Registers of 4 bytes that a tile takes of each thread.
std::int64_t registers_of(const ir::FragmentLayout &layout, ScalarType element);

}  // namespace samite::passes
