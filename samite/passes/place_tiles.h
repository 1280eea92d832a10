// Where each tile of a block is: in the registers of its threads or in shared memory, and in what layout.
//
// A product of matrices whose sums fit into its threads' registers is computed there, each warp having a part of the
// sums (`Fragments`). A tile that nothing but such products and loops over its own elements touches stays there for
// good, as long as all of these want it in one layout; loops over its elements then go through each thread's own. All
// other tiles are in shared memory: factors of such products, where nothing else than loads and loops touch them, with
// rows at multiples of 16 bytes, such that no two threads meet in a bank; where a transpose reads them, likewise, so
// that four threads of a warp meet at most; the rest row by row.
//
// A loop of several stages loads ahead where what it loads depends on its index alone and it writes to no array; then
// each tile that it loads has a buffer for each stage.
//
// A pure function of a lowered kernel, for targets whose blocks have threads and shared memory.
#pragma once

#include "samite/ir/kernel.h"

#include <map>
#include <optional>
#include <vector>

namespace samite::passes {

// The layout of a product's sums. samite/device/tile/fragments.h is the other side of it.
struct Fragments {
  // The multiplications of threads, which have pieces of 4 by 4 or single elements; or of tensor cores, as they are or
  // transposed; or no product: 4 elements of a row for each thread.
  enum class Unit : std::uint8_t { Fours, Singles, Matrices, TransposedMatrices, Rows };

  Unit unit;
  std::int64_t rows, columns;
  std::int64_t down, across;  // warps

  std::int64_t registers() const;  // elements of each thread
  std::int64_t together() const;   // of one row, which lie next to each other
  friend bool operator==(const Fragments &, const Fragments &) = default;
};

// How the threads of a block compute a product. Nothing where they do it element by element in shared memory: products
// in batches, of types that no unit takes, and those whose sums would take more than 128 registers of a thread.
std::optional<Fragments> fragments(const ir::TileCall &call, int threads);

// What the threads of a warp read of a factor's rows at one time.
enum class Reading : std::uint8_t {
  OneRow,       // units of 16 bytes of one row
  PairsOfFour,  // words, or pairs of them, of two units each of 4 rows
  Several,      // also a unit of each of 8 rows, or of every fourth of 32
};

// Of a tile's rows in shared memory: their elements, how many units of 16 bytes they take, and whether the units'
// places are swizzled with the row's number (`TileRows` in samite/device/tile/rows.h).
struct FactorRows {
  std::int64_t columns, units;
  bool swizzled;
};

// Rows such that no two threads meet in a bank. Where they can be swizzled they are, although a number of units that
// does it by itself would leave what a thread reads at constant distances, which cost no registers: rows that begin in
// the middle of a line of 128 bytes take longer to be copied to (4096³ on an H200: bfloat16 325 TFLOP/s, 401 swizzled;
// tf32 192, 209 swizzled).
constexpr FactorRows factor_rows(std::int64_t columns, std::size_t bytes, Reading reading) {
  const std::int64_t own = (columns * static_cast<std::int64_t>(bytes) + 15) / 16;
  if (reading == Reading::OneRow) return {columns, own, false};
  if (own == 2 || own == 4 || own % 8 == 0) return {columns, own, true};
  return {columns, reading == Reading::PairsOfFour ? own + (6 - own % 4) % 4 : own | 1, false};
}

// A loop that loads ahead.
struct StagedLoop {
  std::size_t ahead;                      // so many of its first statements are what is done ahead
  std::vector<ir::LocalArrayId> buffers;  // the tiles that it loads
};

struct TilePlacement {
  // What `spread_tiles` gave places to, at most at one time: registers of a thread. 0 also where there are products,
  // which need registers of their own.
  std::int64_t spread_registers = 0;
  std::map<ir::LocalArrayId, Fragments> registers;
  std::map<ir::LocalArrayId, FactorRows> rows;
  std::map<const ir::For *, StagedLoop> staged;
  std::map<ir::LocalArrayId, int> stages;  // of the tiles that have several buffers
};

// `in_registers` false: no tile stays in registers from one statement to the next.
TilePlacement place_tiles(const ir::Kernel &lowered, bool in_registers = true);

}  // namespace samite::passes
