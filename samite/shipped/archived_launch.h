// Launches of what open archives have, without capture, derivatives and code generation.
//
// A launch names the kernel, its direction and its arguments; of the archived variants whose facts hold of them, the
// one that relies on most runs. On the CPU it has completed when the call returns, on CUDA it is queued in the stream.
// Results are those of Kernel::launch. Kernels that print or check, and those of CUDA that use tensor maps, copies of
// factors or split sums, are launched by the whole library alone. Thread-safe.
#pragma once

#include "samite/runtime/any_buffer.h"
#include "samite/runtime/stream.h"
#include "samite/shipped/launch_form.h"

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace samite::shipped {

struct LaunchArgument {
  AnyBuffer buffer = {};     // invalid for a scalar
  AnyBuffer gradient = {};   // valid if the array is active; with the array's layout
  std::uint64_t scalar = 0;  // its bits
};

// UserError, naming what is expected and given, for a kernel that no open archive has, for arguments that do not fit
// it, and where no archived variant serves the launch: then it says what the archives have, and how to add it.
// DeviceError if the code does not load or the device fails.
void launch(const std::string &kernel, const std::string &direction, const Extents &extents,
            std::span<const LaunchArgument> arguments, const std::optional<Stream> &stream = {});

}  // namespace samite::shipped
