// Makes loops that differ in a few constants equal, in a kernel of many loops, so that they share one function.
//
// Funcs of a chain in one tile often compute the same, in regions of different sizes: `%y * 604 + %x` in one, `%y * 602
// + %x` in the next. Such a constant becomes a local that is defined before the loop, and the function takes it as a
// parameter. Only constants of integer arithmetic become locals, in which each lane of a vector has the same or the
// next element for any value. Other constants, types, arrays, vectors and strides make different loops, and a loop that
// resembles few others keeps its constants.
//
// For loops that are functions (passes/pipelines/loop_functions.h), on the CPU.
#pragma once

#include "samite/ir/kernel.h"

namespace samite::passes {

ir::Kernel equal_loops(ir::Kernel scheduled);

}  // namespace samite::passes
