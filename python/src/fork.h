// A process that has been forked has none of the threads that run kernels, and CUDA does not work in it.
#pragma once

namespace samite::python {

void watch_forks();

// Notes that the process runs kernels from now on. UserError in a child of a process that did.
void refuse_after_fork();

}  // namespace samite::python
