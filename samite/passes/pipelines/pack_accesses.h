// Combines accesses of a scheduled GPU kernel to neighbouring elements: loads of neighbours in a row become one
// `load_pack`, additions one `accumulate_pack`, stores one `store_pack`, and copies to neighbours in shared memory one
// copy (ir/load_ahead.h).
//
// The first element must be known to be at a multiple of the pack's size, in an array whose rows begin at multiples of
// 16 bytes. Loads are combined only from arrays that nothing else writes while the kernel runs. Stores are combined
// only to arrays that nothing reads meanwhile, and only if no two of them are to the same element. All elements of a
// pack are accessed anyway, so that no new access is made.
//
// A loop that runs along a row and only computes is unrolled first.
#pragma once

#include "samite/passes/analysis/array_facts.h"

namespace samite::passes {

ir::Kernel pack_accesses(ir::Kernel scheduled, const FactsOfArrays &arrays);

}  // namespace samite::passes
