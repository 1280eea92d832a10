// Which kernels gain where a thread runs several neighbours at a time (CudaForm::instances_per_thread).
//
// Straight-line code that streams arrays: then what the neighbours load and store is one instruction of 16 bytes, and
// fewer threads keep more memory in flight. Not code with loops or local arrays, where it takes registers and threads
// from what already has enough to do.
#pragma once

#include "samite/ir/kernel.h"

namespace samite::codegen {

// How many: as fill 16 bytes of the widest elements that are loaded or stored next to each other, up to 8; 1 where it
// would not help. Of a lowered kernel.
int worthwhile_instances_per_thread(const ir::Kernel &lowered);

}  // namespace samite::codegen
