// Rough cost estimates for code: how long it takes to compile, and whether to run it is cheaper than to branch around
// it.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/passes/analysis/uniformity.h"

#include <cstddef>
#include <cstdint>
#include <functional>

namespace samite::passes {

// Whether an operation takes one or two instructions.
bool cheap(ir::Op op);

// The approximate number of instructions of a block; for a loop that neighbours run together, the share of one
// neighbour.
std::size_t instructions(const ir::Block &block);
std::size_t instructions_of_one(const ir::For &loop);

// Whether NVIDIA's compiler may unroll a loop freely. It unrolls loops of any size, which takes it long.
bool may_be_unrolled(const ir::For &loop);

// The number of a thread's iterations of a loop over a tile's elements that NVIDIA's compiler interleaves: as many as
// compile fast, and divide the trip count. At least 1, at most 8 for loads: more are no faster. Others, which have no
// latency to hide, at most 4. Iterations that load from arrays are worth four times as much code, since their loads
// then overlap.
std::int64_t turns_together(const ir::Block &turn, std::int64_t turns);

// Whether a thread loop of the CPU should have a second copy of its body, without masks, for full vectors. For a large
// body the compile time matters more. The thread loops of a kernel whose instances are threads were one loop before
// passes/threads/interchange.h, and count as one; the less deeply nested loops, outside and inside, take little of the
// time. A body also has only one copy if its loops need no mask, as in a sum over all pairs. `left_out`: the number of
// statements that the copy omits.
bool worth_copying(const ir::Kernel &lowered, const ir::For &thread_loop, const Uniformity &lanes,
                   std::size_t left_out = 0);

// Whether a side of a branch should run on the CPU without testing whether any lane takes it. It must then be harmless
// with no lane active: it has no unmasked access, that is, no access that all lanes share. `checked`: each access is
// checked. `harmless`: for an access to a local array.
bool worth_flattening(const ir::Block &side, const Uniformity &lanes, bool checked,
                      const std::function<bool(ir::LocalArrayId, const ir::Value &index)> &harmless);

}  // namespace samite::passes
