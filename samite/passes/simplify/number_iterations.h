// Rewrites loops whose index may overflow to count their iterations.
//
// A For adds its step to the index and compares. If the step is not 1 or -1, the sum may wrap around, and the loop
// never ends:
//
//   for %i in %a .. %b step s { … }     for %k in 0 .. %n step 1 { %i = add %a, (mul %k, s) … }
//
// with n = ceil((b - a) / s), computed in unsigned integers, where the distance of two integers always fits. A For with
// step 1 or -1 stays as it is, because its index takes every value up to its end. So does a For with constant bounds
// that leave room for one more step.
//
// Runs on the captured form, before structure_jumps turns a For into a While. All later passes may add the step to any
// index of a For.
#pragma once

#include "samite/ir/kernel.h"

namespace samite::passes {

ir::Kernel number_iterations(const ir::Kernel &captured);

}  // namespace samite::passes
