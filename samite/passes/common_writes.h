// Writes that all instances of a launch make to one element, one after another or at once, and not in atomic steps: a
// launch of more than one instance then leaves what any of them wrote.
//
// That is so where every index is the same for all instances, as constants, extents, scalar parameters, the index of a
// loop that all go through alike, and what is computed of these; and where all instances come to the write. What only
// some of them may come to is left to debug mode (passes/check_races.h). So is a write of a value that is the same for
// all: a flag that any instance may raise.
#pragma once

#include "samite/ir/kernel.h"

#include <vector>

namespace samite::passes {

struct CommonWrite {
  std::uint32_t array;
  std::vector<ir::Value> indices;
  SourceLocation where;
};

// In program order. Of a structured kernel without custom adjoints.
std::vector<CommonWrite> common_writes(const ir::Kernel &structured);

}  // namespace samite::passes
