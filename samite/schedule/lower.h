// From an algorithm and its schedule to what is run.
//
// Each function that is computed at the root becomes launches: its loops of blocks, or parallel ones, are a kernel's
// launch, those around them loops of the host, those inside of them the kernel's body. Any other function is computed
// in its kernel, inside of the loop that its schedule names, over the region that this loop's iterations need.
//
// Storage in shared memory under loops of threads is one for the block: it holds what all threads need together, and
// all threads fill it together. The serial loops around it move outside of the thread loops, which are split around
// what the block does together; what a thread keeps across that is memory of the thread.
#pragma once

#include "samite/ir/func.h"
#include "samite/schedule/program.h"

#include <string>

namespace samite::schedules {

struct Choice {
  bool gpu = false;
  // The name of a schedule. Empty: the one for the target, or, where the algorithm has none, one that is made for it.
  std::string name = {};
};

// UserError where the algorithm or the schedule is wrong.
Program lower(const ir::CapturedPipeline &pipeline, const Choice &choice);

}  // namespace samite::schedules
