// Kernels as XLA calls them, for samite/jax.py: one function serves all kernels. An attribute tells it the kernel and
// how to make the arguments from XLA's buffers. It runs in XLA's threads, without Python.
//
// The attribute `form` is an array of 64-bit integers:
//   kernel, debug (-1: as set), deterministic, launch rank, extents…, and for each parameter of the user's function:
//     0, argument                 an array that is read
//     1, argument, result         an array that is written: XLA lets both be the same memory
//     2, bits…                    the numbers of a scalar or struct, known when the call was traced
//     3, argument…                such numbers, each an argument in host memory
#pragma once

#include "python_errors.h"

namespace samite::python {

void define_jax_calls(nb::module_ &module);

}  // namespace samite::python
