// Prefetches, into the level-2 cache, the windows of a block that runs later.
//
// A block that loads tiles, reduces them and stores the results waits for memory when it begins, and leaves memory idle
// while it computes. If few blocks fit on a multiprocessor, such as two of 1,024 threads, that gap is not hidden:
// softmax of 8192 x 8192 floats runs at 0.91 of a copy's rate on an H200, and at 0.99 if each row is in the cache
// before its block begins.
//
// So after a load whose window moves by a constant step from block to block, the pass puts a `Prefetch` of the window
// of a later block. The prefetch distance is the number of blocks that load 4 MB in all: memory delivers that in 2
// microseconds, longer than its latency, and it is a small part of the cache. (On an H200 2 MB are too few and 8 MB do
// as well; with 13 MB rows are evicted before they are used.)
//
// There is no prefetch
//
//   - past the end of the launch,
//   - in launches of 32 MB or less, where most blocks load at once when the launch begins (2 to 5 % slower at 16 MB),
//   - in blocks that multiply, since many blocks share their windows,
//   - in blocks that only run element by element, where some load while others store anyway,
//   - in blocks that store less than a quarter of what they load: those that mostly load keep memory busy on their own
//     (sums of rows of 8,192 floats reach 4.5 TB/s, and 4.1 with prefetches).
//
// `TilePlan::blocks_ahead` asks for another distance, in launches and blocks of any size, or for no prefetch.
//
// It covers loads of tiles, which load_in_units has marked, and element loops that load a tile, for rows that begin
// with units of 16 bytes and have at least 512 bytes. A pure function of a planned tile kernel.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/passes/analysis/architecture.h"
#include "samite/passes/analysis/array_facts.h"

namespace samite::passes {

// Throws PlanRefused if the plan asks for prefetches and no window qualifies. Otherwise the plan of a kernel that
// prefetches has the distance afterwards.
ir::Kernel fetch_ahead(ir::Kernel planned, const Architecture &architecture, const FactsOfArrays &arrays);

}  // namespace samite::passes
