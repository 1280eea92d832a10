#include "samite/passes/plan_block.h"

namespace samite::passes {

BlockPlan plan_block(const ir::Kernel &lowered, const SharesMemory &shares_memory) {
  if (!ir::is_tile_kernel(lowered)) return {lowered, {}, {}};
  BlockPlan plan{{}, place_tiles(lowered, !lowered.sums_in_shared), {}};
  plan.memory = plan_tile_memory(lowered, plan.placement);
  plan.kernel = insert_barriers(lowered, plan.placement, shares_memory);
  return plan;
}

}  // namespace samite::passes
