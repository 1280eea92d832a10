// Divides the consumers of a block that has a multiprocessor to itself into two teams, so that one multiplies while the
// other stores its results (ping-pong over block indices; compute capability 9.0).
//
// One warp group keeps the tensor cores busy, but not during its epilogue. Several groups that share one tile of the
// result reach the epilogue together, and nothing multiplies meanwhile: on an H200 that is 5,600 of the 71,000 cycles
// that a tile of 128 x 256 takes for 4,096 terms of 16 bits. So if one group holds the whole tile, the pass forms two
// teams, which process block indices alternately. Both read one ring of stages, which the producer fills for one index
// after another, so their main loops alternate on the tensor cores, and each team has as much time for its epilogue as
// the other's main loop takes. A team hands over once the last products of its index have started. It also passes on
// the position in the ring, unless every index has the same number of steps.
//
// The kernel must have roles, with 128 consumer threads and one main loop, which may be inside branches and loops, and
// enough shared memory for each team's own tiles. Teams pay in launches of several waves of blocks, as the launcher
// says. `TilePlan::teams` asks for them in any launch, or for none.
//
// A pure function of a lowered kernel whose threads may have roles (passes/sm90/assign_roles.h).
#pragma once

#include "samite/ir/kernel.h"
#include "samite/passes/analysis/architecture.h"

#include <vector>

namespace samite::passes {

// Throws PlanRefused if the plan asks for teams and the kernel does not qualify. Otherwise the plan of a kernel with a
// main loop has the number of teams afterwards.
ir::Kernel form_teams(ir::Kernel with_roles, const Architecture &architecture, bool several_waves);

// A main loop for an index of the launch, and its enclosing loops, the outermost one first. Null if there is none.
struct LoopOfIndex {
  const ir::MainLoop *main = nullptr;
  std::vector<const ir::For *> around{};
};
LoopOfIndex loop_of_index(const ir::Kernel &kernel);
// The kernel's only one, if it only multiplies, all of its windows.
LoopOfIndex only_whole_loop(const ir::Kernel &kernel);

}  // namespace samite::passes
