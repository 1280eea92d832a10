// Vector loops in which indices are clamped, as beyond the edges of a picture, in three pieces: begin, middle and end.
// In the middle no clamp matters, so that the clamped index is the index, and neighbours are loaded as a vector where
// they would be gathered. The middle is found when the loop runs; begin and end are whole vectors, so that the middle
// has no more masked ones than the loop had. The same for comparisons of the loop's index, which hold in the middle.
#pragma once

#include "samite/ir/kernel.h"

namespace samite::schedules {

// Of a scheduled kernel for the CPU.
void partition_loops(ir::Kernel &kernel);

}  // namespace samite::schedules
