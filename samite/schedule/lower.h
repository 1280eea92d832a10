// Lowers an algorithm with its schedule to a program.
//
// Each function that is computed at the root becomes launches: its block loops or parallel loops are the launch of a
// kernel, the loops around them are loops of the host, and the loops inside them are the kernel's body. Any other
// function is computed in its consumer's kernel, inside the loop that its schedule names, over the region that this
// loop's iterations need.
//
// Shared memory inside thread loops exists once for the block: it holds what all threads need, and all threads fill it
// together. The serial loops around it move outside of the thread loops, which are split around the block-level steps.
// Values that a thread keeps across such a split are in that thread's memory.
#pragma once

#include "samite/ir/func.h"
#include "samite/schedule/program.h"

#include <string>

namespace samite::schedules {

struct Choice {
  bool gpu = false;
  // The name of a schedule. If empty, the one for the target, or, if the algorithm has none, a default schedule.
  std::string name = {};
  // Kernels check the promises of promise_clamped, and fail if one does not hold.
  bool checks_promises = false;
  // For debug mode on the CPU, where copies of a body full of checks would take long to compile. Loops that the
  // schedule unrolls stay loops, and what it keeps in registers is memory of the task.
  bool rolled = false;
  // Vector loops are partitioned into edges and middle.
  bool partitioned = true;
};

// UserError if the algorithm or the schedule is invalid.
Program lower(const ir::CapturedPipeline &pipeline, const Choice &choice);

}  // namespace samite::schedules
