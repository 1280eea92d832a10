// Loop distribution for loop interchange (passes/threads/interchange.h): decides which loops and branches of a thread
// loop are opened, and what runs between them.
//
// The loops and branches around an addition of all instances to one element are opened: they run once for a whole strip
// of instances. So the bounds of an opened loop must be the same for all instances. If instances disagree on an opened
// branch, each side runs for the instances that take it. All other statements are grouped into runs, each a thread loop
// of its own, so that each instance still runs its statements in order. Values that one run computes and another reads
// are kept in between (scalar expansion).
#pragma once

#include "samite/ir/kernel.h"
#include "samite/passes/analysis/uniformity.h"

#include <optional>
#include <vector>

namespace samite::passes {

// At the end of a run, the new value of a local that lives across runs. All of them are assigned at once.
struct RunAssignment {
  ir::LocalId target;
  ir::Value value;
};

struct DistributedStep {
  std::optional<ir::Stmt> opened;                // a For or an If; if empty, the step is a run
  std::vector<DistributedStep> body, otherwise;  // of `opened`: the loop's body, or the branch's sides
  ir::Block statements;                          // of a run
  std::vector<RunAssignment> leaves;             // of a run
};

struct DistributedLoop {
  std::vector<DistributedStep> steps;
  // By LocalId: the slot of a kept local. A carried value has one slot, inside the loop and after it. None: not kept.
  // Linear values are not kept: each run that reads one recomputes it.
  std::vector<std::optional<ir::LocalId>> slot;
  std::vector<bool> shared;  // by LocalId: defined in a run, the same for all instances, and read outside of that run
};

// Empty if no addition would gain, or if a local array, or a Linear value that no operation computes, would have to be
// kept between runs. `only_added_to` is by parameter: arrays that the kernel only adds to, so that the order of
// additions is unobservable.
std::optional<DistributedLoop> distribute(const ir::Kernel &kernel, const ir::For &thread_loop,
                                          const Uniformity &uniformity, const std::vector<bool> &only_added_to);

}  // namespace samite::passes
