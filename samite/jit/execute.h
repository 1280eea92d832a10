// Runs a compiled variant over a launch.
#pragma once

#include "samite/jit/variant.h"
#include "samite/runtime/extents.h"

namespace samite::jit {

// How a launch is cut into boxes that may run side by side.
struct Partition {
  int dimension = 0;         // the launch dimension that is cut
  std::int64_t minimum = 0;  // its indices in one box, at least
  bool whole = false;        // one box: too small to be worth another thread
};

Partition partition(const Variant &variant, const Extents &extents);

// Returns when all instances have run. `arguments` is a block as variant.layout says. In debug mode throws UserError
// for the first access or division that failed, with instance, array, index, extent and line; everything else has run.
// DeviceError where there is no memory for a local array: instances that got none have not run to their end.
void execute(const Variant &variant, const std::string &kernel, const std::byte *arguments, const Extents &extents,
             const Partition &partition);

}  // namespace samite::jit
