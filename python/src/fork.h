// A forked process lacks the threads that run kernels, and CUDA does not work in it.
#pragma once

namespace samite::python {

void watch_forks();

// Notes that the process runs kernels from now on. UserError in a process forked from one that ran kernels.
void refuse_after_fork();

}  // namespace samite::python
