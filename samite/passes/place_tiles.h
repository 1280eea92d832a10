// Where each tile of a block is: in the registers of its threads or in shared memory, and in what layout.
//
// A product of matrices whose sums fit into its threads' registers is computed there, each warp having a part of the
// sums (`Fragments`). A tile that nothing but such products and loops over its own elements touches stays there for
// good, as long as all of these want it in one layout; loops over its elements then go through each thread's own. All
// other tiles are in shared memory: factors of such products, where nothing else than loads and loops touch them, with
// rows at multiples of 16 bytes, such that no two threads meet in a bank; the rest row by row.
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
  enum class Unit : std::uint8_t { Threads, Matrices };  // the multiplications of threads, or of tensor cores

  Unit unit;
  std::int64_t rows, columns;
  std::int64_t down, across;  // warps

  std::int64_t registers() const;  // elements of each thread
  friend bool operator==(const Fragments &, const Fragments &) = default;
};

// How the threads of a block compute a product. Nothing where they do it element by element in shared memory: products
// in batches, of types that no unit takes, and those whose sums would take more than 128 registers of a thread.
std::optional<Fragments> fragments(const ir::TileCall &call, int threads);

// A loop that loads ahead.
struct StagedLoop {
  std::size_t ahead;                      // so many of its first statements are what is done ahead
  std::vector<ir::LocalArrayId> buffers;  // the tiles that it loads
};

struct TilePlacement {
  std::map<ir::LocalArrayId, Fragments> registers;
  // Of a factor's rows in shared memory: their elements, and how many units of 16 bytes they take.
  struct Rows {
    std::int64_t columns, units;
  };
  std::map<ir::LocalArrayId, Rows> rows;
  std::map<const ir::For *, StagedLoop> staged;
  std::map<ir::LocalArrayId, int> stages;  // of the tiles that have several buffers
};

// `in_registers` false: no tile stays in registers from one statement to the next.
TilePlacement place_tiles(const ir::Kernel &lowered, bool in_registers = true);

}  // namespace samite::passes
