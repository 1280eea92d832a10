// Lets kernels of one program that compute the same share one compiled function: makes their code equal.
//
// Kernels of a pyramid or of a chain of stencils often differ in names only, and in a few constants of their bounds,
// e.g. `extent + 398` and `extent + 396`. Such a constant, of an integer that is computed from extents, scalars and
// constants alone, becomes a parameter of the kernels that differ in it, and the host passes its value. Every other
// difference remains one: other constants, types, offsets, loops and arrays make different code. The kernels keep their
// names. The emitter keeps those apart from the code (base/code_names.h), and equal code is compiled once.
//
// Kernels that resemble no other one are left as they are. For the CPU: on a GPU a block computes its bounds together,
// and constants save registers.
#pragma once

#include "samite/schedule/program.h"

namespace samite::schedules {

void share_code(Program &program);

}  // namespace samite::schedules
