// Thread loops as every target runs them: none inside of another, and all in steps of one.
//
// A thread loop inside of another is a serial loop: the threads of the outer one share its instances, and each goes
// through the inner one by itself. A thread loop in larger steps counts in steps of one, and a branch leaves out what
// lies between:
//
//   for.thread %3: i32 in %1 .. %2 step 1 {
//     %4: i32 = sub %3, %1
//     %5: i32 = rem %4, 4
//     %6: bool = eq %5, 0
//     if %6 {
//       …
//
// Its index still counts the instances, so that messages name the right one. Loops in which a thread runs neighbours
// are no such loops: `passes/side_by_side.h` makes them later.
//
// Runs first on lowered kernels of all targets. What comes after it relies on it: the analysis of lanes, the
// interchange of loops, and both emitters. A pure function.
#pragma once

#include "samite/ir/kernel.h"

namespace samite::passes {

ir::Kernel plain_thread_loops(ir::Kernel lowered);

}  // namespace samite::passes
