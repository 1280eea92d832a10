// Finds elements that every instance of a launch writes without atomic operations. If the launch has more than one
// instance, the element ends up with the value of an arbitrary one.
//
// Such a write is reached by all instances, and each of its indices is the same for all of them: a constant, an extent,
// a scalar parameter, the index of a loop that all instances run alike, or computed from these. Debug mode
// (passes/threads/check_races.h) checks writes that only some instances may reach, and writes of a value that all
// instances share, such as a flag that any instance may raise.
#pragma once

#include "samite/ir/kernel.h"

#include <vector>

namespace samite::passes {

struct CommonWrite {
  std::uint32_t array;
  std::vector<ir::Value> indices;
  SourceLocation where;
};

// In program order. For a structured kernel without custom adjoints.
std::vector<CommonWrite> common_writes(const ir::Kernel &structured);

}  // namespace samite::passes
