// Two teams of threads for a block that has a multiprocessor to itself, so that one multiplies while the other stores
// what it has (compute capability 9.0).
//
// A group of four warps keeps the tensor cores busy alone, but not while it does what follows its loop of products.
// Several groups that share one tile of the result come to that together, and nothing multiplies meanwhile: measured on
// an H200, 5,600 cycles of the 71,000 that a tile of 128 x 256 takes for 4,096 terms of 16 bits. So where one group
// has a tile, there are two such teams, which take the indices of the launch in turn. They read one ring of stages,
// which the copying threads fill for one index after the other. So the loops of both take turns at the tensor cores,
// and each team has as long for the rest as the other's loop runs. A team gives its turn when the last products of its
// index have begun, and says where the ring goes on, unless all indices have as many steps.
//
// That wants a kernel whose threads have roles, of which 128 run the body, with one loop of products, which may be in
// branches and loops, and memory for what each team has of its own. The launch must have several rounds of blocks,
// which whoever launches tells.
//
// After assign_roles. A pure function of a lowered kernel.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/passes/architecture.h"

#include <vector>

namespace samite::passes {

ir::Kernel form_teams(ir::Kernel with_roles, const Architecture &architecture);

// The first loop of products that an index of the launch has, and the loops around it there, the outermost one first.
// Null where there is none.
struct LoopOfIndex {
  const ir::TileCall *call = nullptr;
  std::vector<const ir::For *> around{};
};
LoopOfIndex loop_of_index(const ir::Kernel &kernel);
// The same where it is the kernel's only one and does nothing but multiply, all of its windows; else none.
LoopOfIndex only_whole_loop(const ir::Kernel &kernel);
// Whether each index has that loop once, with as many steps: then a team need not be told where the ring goes on.
bool has_equal_turns(const ir::Kernel &kernel);

}  // namespace samite::passes
