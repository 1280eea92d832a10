// Normalises thread loops: no thread loop inside of another, and all of them in steps of one.
//
// A thread loop inside of another becomes a serial loop: the threads of the outer loop share its instances, and each
// runs the inner loop on its own. A thread loop with a larger step counts in steps of one, and a branch skips the
// numbers in between:
//
//   for.thread %3: i32 in %1 .. %2 step 1 {
//     %4: i32 = sub %3, %1
//     %5: i32 = rem %4, 4
//     %6: bool = eq %5, 0
//     if %6 {
//       …
//
// Its index still counts the instances, so that messages name the right one. Loops in which a thread runs neighbours
// are made later, by passes/threads/side_by_side.h.
//
// Runs first on lowered kernels of all targets. The analysis of lanes, loop interchange and both emitters rely on it. A
// pure function.
#pragma once

#include "samite/ir/kernel.h"

namespace samite::passes {

ir::Kernel plain_thread_loops(ir::Kernel lowered);

}  // namespace samite::passes
