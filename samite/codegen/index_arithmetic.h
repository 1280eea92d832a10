// Which integers serve for nothing but to index arrays.
//
// Integers wrap round, and the compiler is told so. Of an index it may know better: one that wraps round is outside of
// its array. It can then step pointers through loops, and fold `i + 1` into the address of an instruction.
#pragma once

#include "samite/ir/kernel.h"

#include <vector>

namespace samite::codegen {

// By LocalId: whether it is a sum, difference or product of signed integers that is used as an index, or in such
// arithmetic of an index, and for nothing else; or a neighbour's index, which does not wrap round (ir::For).
std::vector<bool> only_index(const ir::Kernel &kernel);

}  // namespace samite::codegen
