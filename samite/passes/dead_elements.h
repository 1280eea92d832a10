// Removes what nothing needs from a scheduled kernel, element by element of the memory that it keeps.
//
// A Func's part is a box around all elements that are read of it: of a thread's channels 0 to 3 and 32 to 35 a box of
// 36. Where each access to such memory has a constant index, as unrolled loops leave it, the elements in between are
// only read to be added to. They are not needed, neither are the values that are stored there, nor what these are
// computed from. The compiler would find out, where it has them in registers: this is
// before it is decided which memory is small enough for that.
#pragma once

#include "samite/ir/kernel.h"

namespace samite::passes {

ir::Kernel remove_dead_elements(ir::Kernel scheduled);

}  // namespace samite::passes
