// Removes unneeded elements of the memory that a scheduled kernel keeps.
//
// The region of a Func is a box around all elements that are read of it: a thread that reads channels 0 to 3 and 32 to
// 35 keeps a box of 36. Once loops are unrolled, every access to such memory has a constant index, and the elements in
// between are read only to be added to. They are not needed, and neither are the values stored there or the code that
// computes these. The compiler would find that out for memory in registers, but only after the removal is it known
// which memory is small enough for registers.
#pragma once

#include "samite/ir/kernel.h"

namespace samite::passes {

ir::Kernel remove_dead_elements(ir::Kernel scheduled);

}  // namespace samite::passes
