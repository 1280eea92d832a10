// Loads each value of a scheduled kernel once: merges equal loads of an array that nothing writes while the kernel
// runs, and hoists loads that are the same in every iteration out of their loop. It also merges equal loads of the
// block's memory in a thread loop that does not store to it.
//
// A load is hoisted only from loops that run at least once, so that no new access is made.
#pragma once

#include "samite/passes/analysis/array_facts.h"

namespace samite::passes {

ir::Kernel share_loads(ir::Kernel scheduled, const FactsOfArrays &arrays);

}  // namespace samite::passes
