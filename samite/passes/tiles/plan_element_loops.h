// Decides how each thread of a GPU's block runs the loops over elements of tiles (`ir::ElementPlan`).
//
// A loop over memory of the block runs as few iterations together as compile fast (passes/analysis/op_cost.h).
//
// In a loop over registers, values that depend only on the row are computed once for each row
// (passes/analysis/row_values.h), and accesses to neighbours are made together (passes/analysis/grouped_elements.h). If
// bounds can be checked at the tile's corners, the loop has a version without bounds checks for tiles inside of all
// arrays, and one that checks each element. A branch for each element takes compilers long, so that the checked version
// is not unrolled for a product's sums, but rotates them through the thread's registers. If contiguous elements are
// inside only together, it checks once for all of them; with few such groups in a thread there is one version.
//
// The plan names values of the loops' bodies, which no later step may change. A pure function of a planned kernel whose
// instances are blocks, for targets whose blocks have threads.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/passes/analysis/array_facts.h"

#include <map>
#include <set>

namespace samite::passes {

// `debug`: each access stays in place, and is checked by itself.
ir::Kernel plan_element_loops(ir::Kernel planned, const FactsOfArrays &arrays, bool debug);

// The tiles in registers whose elements a loop goes over. All have the same layout, except for those with one value for
// each row of the others. Empty for a loop over memory.
std::set<ir::LocalArrayId> tiles_of_loop(const ir::For &loop,
                                         const std::map<ir::LocalArrayId, ir::FragmentLayout> &in_registers);

}  // namespace samite::passes
