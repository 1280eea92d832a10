// Where the tiles of a block lie in its shared memory.
//
// A tile is there from the first statement that touches it to the last one; of a loop that it was made outside of, to
// the loop's end. Tiles that are not there at one time may share memory. Each begins at a multiple of 128 bytes, which
// is what any access wants. The largest come first, each at the lowest place that is free.
//
// A pure function of a lowered kernel, for targets that have shared memory.
#pragma once

#include "samite/ir/kernel.h"

#include <optional>
#include <string>
#include <vector>

namespace samite::passes {

struct PlacedTile {
  ir::LocalArrayId array;
  ScalarType type;
  std::int64_t elements, bytes, offset;
  int first, last;  // the statements, counted in program order, between which it is needed
  SourceLocation where;
};

struct TileMemoryPlan {
  std::vector<PlacedTile> tiles;  // in program order
  std::int64_t bytes = 0;         // of all of them together

  std::optional<std::int64_t> offset(ir::LocalArrayId array) const;
  std::string to_string() const;  // a line for each tile, with its bytes, place, live range and source line
};

// UserError where a tile's size is known only when the kernel runs: what an adjoint keeps of a loop.
TileMemoryPlan plan_tile_memory(const ir::Kernel &lowered);

}  // namespace samite::passes
