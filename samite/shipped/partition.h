// The partition of a launch on the CPU into boxes that may run in parallel.
#pragma once

#include "samite/runtime/extents.h"

#include <cstdint>

namespace samite::shipped {

struct Partition {
  int dimension = 0;         // the launch dimension that is split
  std::int64_t minimum = 0;  // the least number of its indices in a box
  bool whole = false;        // one box: too small for another thread
};

// `cost` is the estimated operations of an instance; `lanes` instances run at once. A launch that may be interrupted is
// split even if there is one thread.
Partition partition(const Extents &extents, double cost, int lanes, bool interruptible = false);

}  // namespace samite::shipped
