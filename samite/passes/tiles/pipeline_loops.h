// Writes out loops that prefetch (software pipelining): each iteration waits for its buffer, starts the copies for
// iteration i + stages - 1, then computes.
//
//   for turn in 0 .. iterations + stages - 1
//     if turn >= stages - 1: wait_for_copies stages - 2, barrier     after it no thread reads what the iteration before
//                                                                    this one has read
//     if turn < iterations: start the copies of iteration `turn`     into the next buffer
//     commit_copies
//     if turn >= stages - 1: compute iteration turn - (stages - 1)
//   wait_for_copies 0, barrier
//
// The first stages - 1 turns only start copies, so that the code that starts them exists once. Loads whose windows are
// a constant distance apart form a stream (`LoadStream`): as long as all windows are inside of their arrays, a turn
// takes the next window of each; at the edges it checks each window.
//
// A pure function of a lowered kernel.
#pragma once

#include "samite/ir/kernel.h"

namespace samite::passes {

ir::Kernel pipeline_loops(ir::Kernel lowered);

}  // namespace samite::passes
