// Lets each thread run several instances one after another along the first of three dimensions. That makes stencils
// faster: an instance reuses what the one before it has just read, so that less of the arrays is read from the device's
// outer cache more than once.
//
// The loop over the first dimension carries the number of instances; the code inside stays the same.
//
//   for.block %0: i32 in %3 .. %4 step 1 march 5 {
//
// On a GPU, for launches whose arrays outgrow its caches. Neighbours that a thread then runs side by side stream their
// results, which need not stay in caches. A pure function.
#pragma once

#include "samite/ir/kernel.h"

#include <cstdint>
#include <span>

namespace samite::passes {

// For a lowered kernel whose sums over the launch are marked, and whose local arrays are placed. It is unchanged if
// nothing is gained, or if each thread runs several instances anyway.
ir::Kernel march(ir::Kernel lowered);

// The number of instances that a thread runs one after another.
int marched(const ir::Kernel &planned);

// Whether a launch's arrays exceed a device's caches. The extents are positive.
bool outgrows_caches(std::span<const std::int64_t> extents);

}  // namespace samite::passes
