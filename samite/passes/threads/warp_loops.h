// Finds loops in which the threads of a warp work together.
//
// Sums: all threads add to the same element, a different one in each iteration (passes/threads/sum_over_lanes.h).
// Threads that add to one element wait for each other. So the warp sums what its threads add, for several iterations at
// once, and one thread adds each sum.
//
// Loads: all threads load the same elements, different ones in each iteration: the other body in an all-pairs loop. A
// load of one element takes as long as a load of 32. So each thread of the warp loads what one iteration needs into
// shared memory, for 32 iterations at once, and each iteration reads from there.
//
//   for %5: i32 in 0 .. %4 step 1 by_warp 8 {
//     %6: f32 = load by_warp @x[%5]
//     …
//     accumulate atomic over_lanes @z[%5] += %9
//   }
//
// All threads of the warp must be active and run the same iterations: the values in `same_in_warp` must be equal in all
// of them. The code checks that before the loop; otherwise each thread runs the loop on its own. Remaining iterations
// run one by one. Warps do not wait for each other.
//
// Runs last on a GPU, where accesses are not checked one by one. A pure function.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/passes/analysis/array_facts.h"

#include <cstddef>
#include <set>
#include <vector>

namespace samite::passes {

// Marks the loops that gain, in a planned kernel whose instances are threads.
ir::Kernel warp_loops(ir::Kernel planned, const FactsOfArrays &arrays);

// The locals from before a marked loop that must be equal in all threads of the warp.
std::set<ir::LocalId> same_in_warp(const ir::For &loop);

// The bytes of shared memory for a thread's marked loads of one iteration, in units of 16 bytes if they fill them.
std::size_t bytes_of_row(const std::vector<const ir::Operation *> &loads);

inline constexpr int threads_of_warp = 32;

}  // namespace samite::passes
