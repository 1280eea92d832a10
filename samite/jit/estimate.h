// Estimates for a kernel, to choose how to run it. They affect its speed, never its result.
#pragma once

#include "samite/ir/kernel.h"

#include <vector>

namespace samite::jit {

// Operations of an instance, at least 1. Loops of unknown length count 64 iterations.
double cost_of(const ir::Kernel &kernel);

// The arrays that a structured kernel only accesses by atomic additions.
std::vector<std::uint32_t> arrays_only_added_to(const ir::Kernel &kernel);

}  // namespace samite::jit
