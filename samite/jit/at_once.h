// Runs long tasks that use few cores each concurrently, above all compiles of different variants.
#pragma once

#include <functional>
#include <vector>

namespace samite::jit {

// Returns when all tasks have ended. Uses at most as many threads as the machine has, including the calling one. If
// tasks throw, rethrows the exception of the first of them in the list.
void at_once(const std::vector<std::function<void()>> &tasks);

}  // namespace samite::jit
