// Plans where the tiles of a block are in its shared memory.
//
// A tile lives from the first statement that touches it to the last one, or until all threads have read it; a tile that
// a loop uses but was made outside of it lives to the loop's end. A prefetched tile has one buffer for each stage.
// Tiles whose live ranges do not overlap may share memory. Each tile, and each buffer, begins at a multiple of 128
// bytes, which suits any access, or of 1,024 if bulk copies swizzle what they write. The plan places the largest tiles
// first, each at the lowest free offset.
//
// If teams process block indices alternately, the rings that bulk copies fill come first, followed by one equal part
// for each team.
//
// Tiles whose size is known only at launch come after all others. The kernel stores their offsets symbolically
// (schedule/launch_sizes.h), and a launch computes them.
//
// A pure function of a lowered kernel whose tiles are placed, for targets that have shared memory.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/passes/analysis/architecture.h"

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace samite::passes {

struct PlacedTile {
  ir::LocalArrayId array;
  ScalarType type;
  std::int64_t elements, bytes, offset;
  int stages;       // buffers in these bytes, consecutive
  int first, last;  // the live range: statements counted in program order
  SourceLocation where;
  std::int64_t alignment;  // of its offset
  // For a size that is known only at launch: elements and bytes are 0, and the offset is the least possible one.
  bool sized_at_launch = false;
  std::optional<ir::Value> size = {}, units = {};  // ir::Allocate's
  std::int64_t read_behind = 0;                    // bytes after these that are read, but meaningless
  bool of_team = false;                            // each team has one (ir::Roles::teams)
};

struct TileMemoryPlan {
  std::vector<PlacedTile> tiles;  // in program order
  std::int64_t bytes = 0;         // total of those with a constant size
  struct InRegisters {
    ScalarType type;
    std::int64_t elements, registers;  // of the tile; of each thread
    SourceLocation where;
  };
  std::vector<InRegisters> in_registers;
  std::int64_t team_bytes = 0;  // the part of `bytes` that each team has

  const PlacedTile *tile(ir::LocalArrayId array) const;  // null if it is in registers
  bool sized_at_launch() const;
  // Whether the amount of memory depends on a parameter.
  bool depends_on(std::uint32_t parameter) const;
  // The plan of a launch with these parameters.
  TileMemoryPlan in_launch(const std::function<std::int64_t(std::uint32_t parameter)> &number) const;
  // A line for each tile, with its bytes, offset, live range and source line.
  std::string to_string() const;
  // The tiles that exceed `most` bytes, as text. `what` is their name.
  std::string too_large(std::int64_t most, std::string_view what = "tile") const;
};

// The two barriers of each stage. After them teams pass on the ring's position, in 8 bytes (ir::Roles::teams).
constexpr std::int64_t bytes_of_barriers(std::int64_t stages) { return stages * 16; }

// The bytes by which it exceeds what a block has, besides the device functions' own memory; 0 or less: it fits.
std::int64_t bytes_too_many(const TileMemoryPlan &plan, const Architecture &architecture);
bool fits(const TileMemoryPlan &plan, const Architecture &architecture);

// Without tiles that a loop stores in device memory.
TileMemoryPlan plan_tile_memory(const ir::Kernel &placed);

// The kernel with the plan's offset for each tile.
ir::Kernel with_offsets(ir::Kernel placed, const TileMemoryPlan &plan);

}  // namespace samite::passes
