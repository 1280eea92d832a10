// Integers that serve only to index arrays.
//
// Integers wrap around, and the emitted code says so to the compiler. For indices it can do better: an index that wraps
// is outside of its array anyway. The compiler can then step pointers through loops, and fold `i + 1` into the address
// of an instruction.
#pragma once

#include "samite/ir/kernel.h"

#include <vector>

namespace samite::codegen {

// By LocalId: whether it is a sum, difference or product of signed integers that is only used as an index, or in such
// arithmetic for an index; or a neighbour's index, which does not wrap around (ir::For).
std::vector<bool> only_index(const ir::Kernel &kernel);

}  // namespace samite::codegen
