// Which loads of tiles move units of 16 bytes, one instruction each: those whose every window, in any launch, begins at
// such a unit in each of its rows. The array's rows must do so, and elements lie one after another, which is known of
// its argument; the window's first column must be a multiple of a unit, which its index tells.
//
// Any other load moves element by element. A pure function of a planned tile kernel, for targets whose blocks have
// threads.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/passes/array_facts.h"

namespace samite::passes {

ir::Kernel load_in_units(ir::Kernel planned, const FactsOfArrays &arrays);

}  // namespace samite::passes
