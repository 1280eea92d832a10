// Which statements of a loop of several stages are done ahead: the loads of tiles that depend on its index alone, and
// what they need, of arrays that share no memory with what the loop writes to. Each tile that is loaded ahead gets a
// buffer for each stage.
//
// This writes `ahead` of each loop, and `stages` of each such tile. After place_tiles. A pure function of a lowered
// kernel.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/passes/array_facts.h"

namespace samite::passes {

ir::Kernel stage_loads(ir::Kernel lowered, const FactsOfArrays &arrays = {});

}  // namespace samite::passes
