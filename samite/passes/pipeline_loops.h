// Loops that load ahead, written out: each iteration waits for its buffer, starts the copies for iteration
// i + stages - 1, then computes.
//
//   for turn in 0 .. iterations + stages - 1
//     if turn >= stages - 1: wait_for_copies stages - 2, barrier     behind it no thread reads what the iteration
//     before
//                                                                    this one has read
//     if turn < iterations: start the copies of iteration `turn`     into the next buffer
//     commit_copies
//     if turn >= stages - 1: compute iteration turn - (stages - 1)
//   wait_for_copies 0, barrier
//
// The first stages - 1 turns start copies and do nothing else, so that the code that starts them is there once. Where
// the windows of each load lie at one distance from each other, they are a stream (`LoadStream`): while all of them are
// inside of their arrays, a turn takes the next of each; at the edges it looks at each window by itself.
//
// After insert_barriers, before memory is planned. A pure function of a lowered kernel.
#pragma once

#include "samite/ir/kernel.h"

namespace samite::passes {

ir::Kernel pipeline_loops(ir::Kernel lowered);

}  // namespace samite::passes
