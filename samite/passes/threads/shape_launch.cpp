#include "samite/passes/threads/shape_launch.h"

#include "samite/passes/sm90/assign_roles.h"
#include "samite/passes/threads/instances_per_thread.h"
#include "samite/passes/threads/march.h"
#include "samite/passes/threads/place_arrays.h"
#include "samite/passes/threads/side_by_side.h"
#include "samite/passes/threads/sum_over_launch.h"
#include "samite/passes/tiles/plan_tile_memory.h"

namespace samite::passes {
namespace {

using namespace ir;

bool has_room_for_two(const Kernel &kernel, const TileMemoryPlan &memory, const Architecture &architecture) {
  constexpr int many_threads = 512;
  const int threads = threads_of_block(kernel);
  if (threads <= many_threads || std::int64_t{2} * threads > architecture.threads) return false;
  return memory.sized_at_launch() || architecture.blocks_with_room(memory.bytes) >= 2;
}

// The number of blocks that shared memory has room for, if their threads may use all registers; else 0.
int blocks_of_memory(const Kernel &kernel, const TileMemoryPlan &memory, const Architecture &architecture) {
  constexpr std::int64_t most_registers = 255;
  if (kernel.grid.resident_blocks != 0 || memory.sized_at_launch()) return 0;
  const std::int64_t blocks = architecture.blocks_with_room(memory.bytes);
  return blocks * kernel.block_threads * most_registers <= architecture.registers ? static_cast<int>(blocks) : 0;
}

}  // namespace

bool wants_strides(const Kernel &planned) { return uses_workspace(planned) || sums_over_launch(planned); }

Kernel shape_launch(Kernel planned, const Architecture &architecture, const LaunchWishes &wishes) {
  Grid &grid = planned.grid;
  grid.persistent = planned.roles.producers != 0 && grid.step_parts == 0;
  grid.strides = grid.persistent || wishes.strides || wants_strides(planned);
  grid.axes = false;
  const auto registers = registers_of_roles(planned);
  planned.roles.registers = registers.value_or(Roles::Registers{});
  if (!is_tile_kernel(planned)) {
    grid.blocks_at_once =
        blocks_at_once(planned, {.threads = most_threads_of_block,
                                 .instances_of_thread = static_cast<int>(instances_of_thread(planned)),
                                 .march = marched(planned)});
    return planned;
  }
  grid.blocks_at_once = planned.grid.resident_blocks;
  const TileMemoryPlan memory = plan_tile_memory(planned);
  if (!wishes.debug && !grid.persistent && wishes.two_blocks && has_room_for_two(planned, memory, architecture)) {
    grid.blocks_at_once = 2;
    // Other kernels use one row of blocks: on an H100 a stencil of 512³ takes 6% longer on a grid with an axis for each
    // dimension.
    grid.axes = wishes.axes && !grid.strides;
  } else if (const int blocks = wishes.debug ? 0 : blocks_of_memory(planned, memory, architecture); blocks != 0) {
    grid.blocks_at_once = blocks;
  }
  // If roles exchange registers, the assembler must know their number.
  if (registers) grid.blocks_at_once = 1;
  return planned;
}

}  // namespace samite::passes
