// Lets kernels of one program that compute the same share one compiled function: makes their code equal.
//
// Kernels of a pyramid or of a chain of stencils often differ only in names, and in a few constants of their bounds,
// e.g. `extent + 398` and `extent + 396`. Such a constant, if its integer is computed only from extents, scalars and
// constants, becomes a parameter of the kernels that differ in it, and the host passes its value. Any other difference
// stays: other constants, types, offsets, loops and arrays make different code. The kernels keep their names. The
// emitter keeps the names apart from the code (base/code_names.h), and equal code is compiled once.
//
// Kernels that resemble no other one are unchanged. For the CPU only: on a GPU a block computes its bounds once, and
// constants save registers.
#pragma once

#include "samite/schedule/program.h"

namespace samite::schedules {

void share_code(Program &program);

}  // namespace samite::schedules
