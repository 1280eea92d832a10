// Loads what stays the same once, of a scheduled kernel: equal loads of an array that nothing writes to while the
// kernel runs, and those that are the same in each iteration of a loop, which go in front of it. Equal loads of memory
// of the block, too, in a loop over threads that does not store to it.
//
// A load leaves only loops that have an iteration for certain, so that no access is made that was not there before.
#pragma once

#include "samite/passes/array_facts.h"

namespace samite::passes {

ir::Kernel share_loads(ir::Kernel scheduled, const FactsOfArrays &arrays);

}  // namespace samite::passes
