// Chooses the statements of a multi-stage loop that run ahead: loads of tiles that depend only on the loop's index,
// from arrays that share no memory with what the loop writes, and the statements that these loads need. Each prefetched
// tile gets one buffer for each stage.
//
// The pass writes `ahead` of each loop and `stages` of each such tile. A pure function of a lowered kernel.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/passes/analysis/array_facts.h"

namespace samite::passes {

ir::Kernel stage_loads(ir::Kernel lowered, const FactsOfArrays &arrays = {});

}  // namespace samite::passes
