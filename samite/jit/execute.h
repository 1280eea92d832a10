// Runs a compiled variant over a launch.
#pragma once

#include "samite/jit/variant.h"
#include "samite/runtime/extents.h"
#include "samite/shipped/partition.h"

namespace samite::jit {

using Partition = shipped::Partition;

Partition partition(const Variant &variant, const Extents &extents);

// Returns when all instances have run. `arguments` is a block with variant.layout. In debug mode throws UserError for
// the first access or division that failed, with instance, array, index, extent and line; all other instances have run.
// DeviceError if there is no memory for a local array: the instances without it have ended early.
void execute(const Variant &variant, const std::string &kernel, const std::byte *arguments, const Extents &extents,
             const Partition &partition);

}  // namespace samite::jit
