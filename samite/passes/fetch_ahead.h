// What a block asks level 2 of the cache to bring for a block that runs later.
//
// A block that loads its tiles, reduces them and stores what it has found waits for memory when it begins, and asks
// nothing of it while it computes. Where few blocks fit a multiprocessor, such as two of 1,024 threads, memory stands
// still in between: softmax of 8192 x 8192 floats runs at 0.91 of a copy's rate on an H200, and at 0.99 where each row
// is in the cache before its block begins.
//
// So behind a load whose place moves from block to block by the same step there is a `Prefetch` of the window that the
// block so many later loads: as many as have 4 MB to load in all, which is what memory sends in 2 microseconds, longer
// than it takes to answer, and little of the cache. (On an H200 2 MB are too few, 8 MB do as well, and with 13 MB rows
// are gone before they are used.) Not behind the launch's end, nor in launches of 32 MB or less, most of whose blocks
// load when it begins (of 16 MB, 2 to 5 % slower), nor where blocks multiply, whose windows many of them
// share, nor where they only go over their tiles element by element, so that some load while others store. Nor where
// they store less than a quarter of what they load: those that do little but load keep memory busy
// without it (sums of rows of 8,192 floats: 4.5 TB/s, and 4.1 with it).
//
// After load_in_units: of loads of tiles, and of loops over elements that load a tile's, whose rows begin with units of
// 16 bytes and have 512 bytes or more. A pure function of a planned tile kernel.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/passes/architecture.h"
#include "samite/passes/array_facts.h"

namespace samite::passes {

ir::Kernel fetch_ahead(ir::Kernel planned, const Architecture &architecture, const FactsOfArrays &arrays);

}  // namespace samite::passes
