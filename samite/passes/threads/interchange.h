// Loop interchange: moves a loop in which all instances add to one element outside of the thread loop.
//
// In an all-pairs loop each instance adds to element j in iteration j, so all instances add to the same element. Run
// vector by vector, every vector would sum its lanes for every j. Instead a strip of many instances runs the loop
// together:
//
//   for strip                                   the thread loop is strip-mined
//     for.thread i in the strip                 a run: what precedes the loop
//     for j                                     the loop is opened
//       for.thread i in the strip jam 4         a run: the body; its additions are summed, and added to element j once
//     for.thread i in the strip                 a run: what follows the loop
//
// passes/threads/distribute.h decides what is opened. A value that one run computes and another reads is kept in memory
// of the strip. A value that all instances share is computed once, outside of the thread loops, if no write of the run
// can change it. A straight-line run inside of an opened loop is jammed (unrolled over the outer loop), because one
// vector alone is a chain of dependent operations.
//
// For targets whose thread loops run as vectors. Not for debug mode, whose checks belong to each access in the order in
// which the instances run. Runs once the arrays of instances are placed, because a strip's arrays are sized for the
// first-level cache. A pure function of a lowered kernel; tile kernels stay as they are.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/passes/analysis/array_facts.h"

namespace samite::passes {

ir::Kernel interchange(ir::Kernel lowered, const FactsOfArrays &arrays);

}  // namespace samite::passes
