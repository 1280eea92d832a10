// Finds writes that all instances of a launch make to one element, and not in atomic steps. A launch of more than one
// instance then leaves what some instance wrote.
//
// For such a write all instances come to it, and every index is the same for all of them: a constant, an extent, a
// scalar parameter, the index of a loop that is the same for all, or computed from these. Debug mode
// (passes/check_races.h) checks what only some instances may come to. It also checks writes of a value that is the same
// for all, as of a flag that any instance may raise.
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
