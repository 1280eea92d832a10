// Several elements in one access, of a scheduled kernel on a GPU: loads of neighbours in a row become one `load_pack`,
// additions to neighbours one `accumulate_pack`, stores to neighbours one `store_pack`, copies of neighbours to
// neighbours in shared memory one copy (ir/load_ahead.h).
//
// Only where the first element is known to lie at a multiple of so many, in an array whose rows begin at multiples of
// 16 bytes; loads only of arrays that nothing else writes to while the kernel runs, stores only to arrays that nothing
// reads meanwhile, and among which none may be to one element. All elements are accessed in any
// case, so that no access is made that was not there before.
//
// A loop that goes along a row, and does nothing but compute, is unrolled for that.
#pragma once

#include "samite/passes/array_facts.h"

namespace samite::passes {

ir::Kernel pack_accesses(ir::Kernel scheduled, const FactsOfArrays &arrays);

}  // namespace samite::passes
