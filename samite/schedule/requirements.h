// Requirements of a pipeline on its arguments: arrays have the elements that definitions read and write, and Funcs have
// those that are requested, as far as this is known before anything runs. Each requirement becomes a step of the
// program.
#pragma once

#include "samite/schedule/lowering.h"

namespace samite::schedules {

// The schedule's requirements on the arrays that a function fills.
void require_output(Lowering &lowering, std::uint32_t f);
// `boxes`: the needed elements of each function.
void require_room(Lowering &lowering, const Boxes &boxes);

}  // namespace samite::schedules
