// Makes ranges count their iterations, where their index might go beyond the largest number of its type.
//
// A For adds its step to the index and compares. Where the step is not 1 or -1 the sum may wrap round, and the loop
// never ends:
//
//   for %i in %a .. %b step s { … }     for %k in 0 .. %n step 1 { %i = add %a, (mul %k, s) … }
//
// with n = ceil((b - a) / s), computed in unsigned numbers, in which the distance of two integers always fits. A For of
// step 1 or -1 stays as it is: its index passes each number up to its end. So does one whose bounds are constants with
// room for one more step.
//
// Runs on the captured form, before structure_jumps makes a While of a For. All later passes may add the step to any
// index of a For.
#pragma once

#include "samite/ir/kernel.h"

namespace samite::passes {

ir::Kernel number_iterations(const ir::Kernel &captured);

}  // namespace samite::passes
