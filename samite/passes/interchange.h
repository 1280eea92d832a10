// Loop interchange: a loop in which all instances add to one element goes outside of the thread loop.
//
// In an all-pairs loop each instance adds to element j in iteration j: all instances add to the same element. Run
// vector by vector, every vector would sum its lanes for every j. Instead many instances, a strip, go through the loop
// together:
//
//   for strip                                   the thread loop is strip-mined
//     for.thread i in the strip                 a run: what comes before the loop
//     for j                                     the loop is opened
//       for.thread i in the strip jam 4         a run: the body; its additions are summed, and added to element j once
//     for.thread i in the strip                 a run: what comes after
//
// `passes/distribute.h` says what is opened. A value that one run computes and another reads is in memory of the strip;
// one that is the same for all instances is computed once, outside of the thread loops, where no write of the run may
// change it. A run inside of an opened loop that is straight-line code is jammed: one vector alone is a chain of
// operations that wait for one another.
//
// This is for a target whose thread loops run as vectors, and not for debug mode, whose checks belong to each access,
// in the order in which the instances run. It runs when the arrays of instances have their places, since a strip's
// arrays are sized for the first-level cache. A pure function of a lowered kernel; a tile kernel stays as it is.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/passes/array_facts.h"

namespace samite::passes {

ir::Kernel interchange(ir::Kernel lowered, const FactsOfArrays &arrays);

}  // namespace samite::passes
