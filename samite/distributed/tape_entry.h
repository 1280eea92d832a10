// A collective operation as an entry on all ranks' tapes.
#pragma once

#include "samite/distributed/communicator.h"
#include "samite/jit/tape_function.h"

namespace samite::distributed {

// Like run_on_tape, except that every rank runs `backward`, which communicates, even if its own arrays have no
// gradients. While a graph is captured, `forward` is a part of the graph, and owns what it uses. UserError if the
// captured stream is not the communicator's.
void run_on_tapes(const Communicator &ranks, TapeFunction function, SourceLocation where);

}  // namespace samite::distributed
