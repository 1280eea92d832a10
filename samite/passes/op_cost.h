// Rough cost estimates for code: how long it takes to compile, and whether to run it is cheaper than to branch around
// it.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/passes/uniformity.h"

#include <cstddef>
#include <cstdint>
#include <functional>

namespace samite::passes {

// Whether an operation is done by an instruction or two.
bool cheap(ir::Op op);

// About how many instructions a block becomes; and what one of the neighbours has of a loop that they go through
// together.
std::size_t instructions(const ir::Block &block);
std::size_t instructions_of_one(const ir::For &loop);

// Whether NVIDIA's compiler may unroll a loop as it likes. It unrolls loops of any size, which takes its time.
bool may_be_unrolled(const ir::For &loop);

// How many of a thread's turns of a loop over a tile's elements NVIDIA's compiler puts side by side: as many as are not
// much to compile, and divide the number of turns. At least 1, at most 8 where they load: more are no faster. Others,
// which wait for nothing, at most 4. Turns that load from arrays are worth four times as much code, since their loads
// then wait together.
std::int64_t turns_together(const ir::Block &turn, std::int64_t turns);

// Whether a thread loop of the CPU should have a second copy of its body, for vectors all of whose lanes are on, which
// needs no masks. Of a large body the compile time matters more. The thread loops of a kernel whose instances are
// threads were one before passes/interchange.h, and are counted as one; those that fewer loops are around, and in, take
// little of the time. A body has one copy, too, where its loops ask for no mask, as a sum over all pairs does.
bool worth_copying(const ir::Kernel &lowered, const ir::For &thread_loop, const Uniformity &lanes);

// Whether a side of a branch should run on the CPU without asking first if any lane goes there. It must then do no harm
// with no lane active: have no access that the mask does not guard, which is one that all lanes share. `checked`: each
// access is checked. `harmless`: of an access to a local array.
bool worth_flattening(const ir::Block &side, const Uniformity &lanes, bool checked,
                      const std::function<bool(ir::LocalArrayId, const ir::Value &index)> &harmless);

}  // namespace samite::passes
