// Ranks that are threads of one process, on the CPU. Sums have a fixed order: that of the ranks.
#pragma once

#include "samite/distributed/transport.h"

#include <vector>

namespace samite::distributed {

// The transports of `size` ranks, in order.
std::vector<std::shared_ptr<Transport>> thread_transports(int size, Timeout timeout);

}  // namespace samite::distributed
