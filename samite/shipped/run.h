// Runs the parts of an archived variant with a block of arguments: see archived_launch.h.
#pragma once

#include "samite/runtime/extents.h"
#include "samite/runtime/stream.h"
#include "samite/shipped/launch_form.h"

#include <cstddef>

namespace samite::shipped {

// Returns when all instances have run. DeviceError if an image does not load or there is no memory for local arrays.
void run_on_host(const LaunchForm &form, const Extents &extents, const std::byte *arguments);

// Puts the kernels into the stream. UserError if the device cannot launch that many instances.
void run_on_cuda(const LaunchForm &form, const Extents &extents, const std::byte *arguments, const Stream &stream);

}  // namespace samite::shipped
