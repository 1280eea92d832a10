// Threads that march: a thread runs several instances one after another along the first of three dimensions. Stencils
// gain by it: what an instance reads of the one behind it has just been read, so that less of the arrays comes from the
// device's outer cache more than once.
//
// The loop over the first dimension says so; what runs is the same.
//
//   for.block %0: i32 in %3 .. %4 step 1 march 5 {
//
// Runs on a GPU, for launches whose arrays outgrow its caches, before neighbours are put side by side: what such a
// kernel stores need not stay in caches. A pure function.
#pragma once

#include "samite/ir/kernel.h"

#include <cstdint>
#include <span>

namespace samite::passes {

// Of a lowered kernel whose sums over the launch are marked, and whose local arrays have their places. It stays as it
// is where nothing is gained, and where each thread goes on to further instances anyway.
ir::Kernel march(ir::Kernel lowered);

// How many instances a thread runs one after another.
int marched(const ir::Kernel &planned);

// Whether a launch is so large that its arrays outgrow a device's caches. The extents are positive.
bool outgrows_caches(std::span<const std::int64_t> extents);

}  // namespace samite::passes
