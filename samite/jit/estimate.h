// Guesses about a kernel, to choose between ways of running it. They change its speed, never its result.
#pragma once

#include "samite/ir/kernel.h"

#include <vector>

namespace samite::jit {

// Operations for each instance, at least 1. What a loop contains counts as if it ran 64 times, for want of knowing.
double cost_of(const ir::Kernel &kernel);

// The arrays that a structured kernel accumulates into by atomic additions and does not touch otherwise.
std::vector<std::uint32_t> arrays_only_added_to(const ir::Kernel &kernel);

}  // namespace samite::jit
