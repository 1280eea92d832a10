// Launches of kernels in open archives, without capture, derivatives and code generation.
//
// A launch names the kernel, its direction and its arguments; of the archived variants whose facts hold, the one that
// relies on the most facts runs. On the CPU it has completed when the call returns, on CUDA it is queued in the stream.
// Results are those of Kernel::launch. Only the whole library launches kernels that print or check, and CUDA kernels
// that use copies of factors, split sums or clusters. Thread-safe.
#pragma once

#include "samite/runtime/any_buffer.h"
#include "samite/runtime/stream.h"
#include "samite/shipped/launch_form.h"

#include <cstddef>
#include <cstdint>
#include <memory>
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
// it, and if no archived variant serves the launch: then it lists what the archives have, and says how to add the
// variant. DeviceError if the code does not load or the device fails.
void launch(const std::string &kernel, const std::string &direction, const Extents &extents,
            std::span<const LaunchArgument> arguments, const std::optional<Stream> &stream = {});

// The same, checked once and run any number of times; it keeps its buffers. Immutable, so any thread may run it.
class RecordedLaunch {
 public:
  // UserError as for launch().
  RecordedLaunch(const std::string &kernel, const std::string &direction, const Extents &extents,
                 std::vector<LaunchArgument> arguments, const std::optional<Stream> &stream = {});
  void run() const;

  const LaunchForm &form() const { return *form_; }
  const Extents &extents() const { return extents_; }
  const std::vector<LaunchArgument> &arguments() const { return arguments_; }
  const std::optional<Stream> &stream() const { return stream_; }

 private:
  std::shared_ptr<const LaunchForm> form_;
  Extents extents_;
  std::vector<LaunchArgument> arguments_;
  std::optional<Stream> stream_;
  std::vector<std::byte> block_;
};

}  // namespace samite::shipped
