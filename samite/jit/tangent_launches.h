// Launches that compute tangents beside values.
//
// While `run` is on, each forward launch of this thread runs as the tangent of its kernel (autodiff/tangent.h), which
// is a kernel like any other: a tape that records meanwhile puts that down, and so goes back over the derivatives
// themselves. What the host does with buffers meanwhile it does with their tangents, too. The tangents lie in memory of
// their own, with gradients of their own, beside each buffer that tracks one.
#pragma once

#include "samite/jit/definition.h"
#include "samite/jit/launch.h"
#include "samite/runtime/host_operation.h"

#include <functional>
#include <memory>
#include <unordered_map>

namespace samite::jit {

class TangentLaunches {
 public:
  // Calls `work`. UserError where this thread is inside of another one.
  void run(const std::function<void()> &work);

  // The tangents of `buffer`: a view like it, tracking its gradient; zeros until a launch or the caller writes there.
  AnyBuffer of(const AnyBuffer &buffer);

  // For the library: what is on in this thread, or null, and a forward launch that becomes one with tangents.
  static TangentLaunches *current();
  void launch(const std::shared_ptr<KernelDefinition> &definition, const LaunchExtents &extents,
              const LaunchOptions &options, std::span<const Argument> arguments);
  void perform(const HostOperation &operation);

 private:
  struct Shadow {
    std::shared_ptr<Storage> values;  // kept, so that no other storage gets its address
    std::shared_ptr<Storage> tangents;
  };
  std::unordered_map<const Storage *, Shadow> shadows_;
};

}  // namespace samite::jit
