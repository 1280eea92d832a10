// Memory that each thread of a GPU's block keeps from one thread loop to the next, across block-level steps. Each
// thread has it once. So a loop with more iterations than the block has threads must not leave values there for another
// loop: a thread runs several of its iterations, and each would overwrite the previous one's values.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/schedule/loop_nest.h"

#include <string>
#include <vector>

namespace samite::schedules {

// A Func's per-thread memory, and the loops whose iterations keep it.
struct ThreadMemory {
  ir::LocalArrayId array;
  std::string function;
  std::string computed;            // what the loops compute
  std::vector<std::string> loops;  // outermost first
  SourceLocation where;            // of the directive that places the Func
};

// UserError if its values are kept by loops with too many iterations.
void check_thread_memory(const ir::Kernel &kernel, const std::vector<ThreadMemory> &all);

}  // namespace samite::schedules
