// Work that takes long and asks little of the machine's cores at a time, above all compiles of different variants, done
// at the same time.
#pragma once

#include <functional>
#include <vector>

namespace samite::jit {

// Returns when all tasks have ended, on at most as many threads as the machine has; the calling one is among them.
// Where tasks throw, the exception of the first of them in the list is thrown then.
void at_once(const std::vector<std::function<void()>> &tasks);

}  // namespace samite::jit
