// Activity analysis: the values of a kernel that carry derivatives.
#pragma once

#include "samite/ir/kernel.h"

#include <vector>

namespace samite::autodiff {

// Sets of locals are indexed by LocalId, sets of arrays by parameter.
struct Activity {
  // By local: floating values that depend on an active array, and that a store to an active array depends on.
  std::vector<bool> local;
  std::vector<bool> varied;  // by local: floating values that depend on an active array, used or not
  // By local array: the same as `local`, for all its elements together.
  std::vector<bool> local_array;
  bool reaches_output = false;  // something is stored into an active array
  // Floating inactive arrays into which values that depend on an active array are stored: gradients end there.
  std::vector<bool> loses;
  // Floating inactive arrays whose elements affect stores into an active array.
  std::vector<bool> read_for_output;
};

// `active_array` is by parameter: floating arrays whose gradients are wanted.
Activity find_activity(const ir::Kernel &structured, const std::vector<bool> &active_array);

}  // namespace samite::autodiff
