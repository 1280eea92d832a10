// Neighbours side by side: a thread runs several instances at a time, next to each other in the launch's last
// dimension. For a GPU, where a thread runs each instance otherwise.
//
// The loop over the last dimension gets a step. Its body is a branch: where all neighbours are inside of the launch, a
// body for all of them, in which what is the same for all is computed once and the rest is written once for each,
// statement by statement; else a rolled loop that runs them one by one. Neighbours stay together in loops and branches
// that they go through alike. Elements next to each other, in rows that are aligned, are one access (`LoadPack`,
// `StorePack`), and what all neighbours add to one element is summed first.
//
//   for.thread %5: i32 in %3 .. %4 step 2 {
//     %6: i32 = sub %4, %5
//     %7: bool = ge %6, 2
//     if %7 {
//       load_pack constant %8: f32, %9: f32 = @x[%5]
//       %10: f32 = mul %8, @a
//       %11: f32 = mul %9, @a
//       store_pack @y[%5] = %10, %11
//     } else {
//       for %0: i32 in %5 .. %4 step 1 rolled { … }
//     }
//   }
//
// Runs after sums over the launch are marked: those stay apart. A pure function.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/passes/array_facts.h"

namespace samite::passes {

struct SideBySide {
  int instances = 1;  // of a thread at a time: a power of two up to 8; 1 leaves the kernel as it is
  FactsOfArrays arrays = {};
  bool streams = false;  // what is stored to arrays that the kernel does not read is not kept in caches
};

// Of a lowered kernel whose instances are threads, and which uses no workspace. The launch begins at a multiple of
// `instances` in its last dimension.
ir::Kernel side_by_side(ir::Kernel lowered, const SideBySide &choice);

// How many a thread of a planned kernel runs at a time: the step of the loop over the launch's last dimension.
std::int64_t instances_of_thread(const ir::Kernel &planned);

}  // namespace samite::passes
