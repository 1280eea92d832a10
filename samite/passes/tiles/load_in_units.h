// Marks the loads of tiles that move units of 16 bytes with one instruction each: those whose windows, in any launch,
// begin at such a unit in each row. That needs an array whose rows begin at units and whose elements are contiguous, as
// the facts about the argument say, and a first column that is a multiple of a unit, as the index shows.
//
// All other loads move element by element. A pure function of a planned tile kernel, for targets whose blocks have
// threads.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/passes/analysis/array_facts.h"

namespace samite::passes {

ir::Kernel load_in_units(ir::Kernel planned, const FactsOfArrays &arrays);

}  // namespace samite::passes
