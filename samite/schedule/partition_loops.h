// Partitions vector loops whose indices are clamped, as at the edges of an image, into begin, middle and end. In the
// middle no clamp has an effect, so the clamped index is the index itself, and neighbours are loaded as a vector
// instead of gathered. The middle is found at run time. Begin and end are whole vectors, so that the middle has no more
// masked iterations than the original loop. Comparisons of the loop's index that hold in the middle are handled the
// same way.
#pragma once

#include "samite/ir/kernel.h"

namespace samite::schedules {

// The kernel must be scheduled, and for the CPU.
void partition_loops(ir::Kernel &kernel);

}  // namespace samite::schedules
