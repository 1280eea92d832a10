// Lets each thread of a GPU run several neighbouring instances at once: instances that are next to each other in the
// launch's last dimension.
//
// The loop over the last dimension gets a step. Its body becomes a branch. If all neighbours are inside of the launch,
// one body runs all of them: it computes once what they share, and writes everything else once for each of them,
// statement by statement. Otherwise a rolled loop runs them one by one. Neighbours stay together in loops and branches
// that they run alike. Accesses to adjacent elements of aligned rows become one access (`LoadPack`, `StorePack`), and
// additions of all neighbours to one element are summed first.
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
// The sums of sum_over_launch stay separate. A pure function.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/passes/analysis/array_facts.h"

namespace samite::passes {

struct SideBySide {
  int instances = 1;  // of a thread at a time: a power of two up to 8; 1 leaves the kernel unchanged
  FactsOfArrays arrays = {};
  bool streams = false;  // stores to arrays that the kernel does not read bypass caches
};

// For a lowered kernel whose instances are threads, and which uses no workspace. The launch begins at a multiple of
// `instances` in its last dimension.
ir::Kernel side_by_side(ir::Kernel lowered, const SideBySide &choice);

// The neighbours that a thread of a planned kernel runs together: the step of the loop over the launch's last
// dimension.
std::int64_t instances_of_thread(const ir::Kernel &planned);

}  // namespace samite::passes
