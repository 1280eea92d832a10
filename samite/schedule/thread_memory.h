// Memory that each thread of a GPU's block keeps from one thread loop to the next, across the steps that the block does
// together. Each thread has it once. So a loop with more iterations than the block has threads must not leave values
// there for another loop: a thread runs several of its iterations, and each would overwrite the values of the one
// before.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/schedule/loop_nest.h"

#include <string>
#include <vector>

namespace samite::schedules {

// A Func's memory of threads, and the loops whose iterations keep it.
struct ThreadMemory {
  ir::LocalArrayId array;
  std::string function;
  std::string computed;            // what the loops compute
  std::vector<std::string> loops;  // the outermost first
  SourceLocation where;            // who says where the Func is computed
};

// UserError where loops of too many iterations keep what is in it.
void check_thread_memory(const ir::Kernel &kernel, const std::vector<ThreadMemory> &all);

}  // namespace samite::schedules
