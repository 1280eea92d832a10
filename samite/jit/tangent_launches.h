// Launches that compute tangents along with values.
//
// During `run`, each forward launch of this thread runs as the tangent of its kernel (autodiff/tangent.h), which is a
// kernel like any other: a tape that is recording records it, and so differentiates the derivatives. The host's
// operations on buffers also apply to their tangents. The tangents are in separate memory with their own gradients, one
// for each buffer that tracks one.
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
  // Calls `work`. UserError if this thread is inside another one.
  void run(const std::function<void()> &work);

  // The tangents of `buffer`: a view like it, tracking its gradient; zeros until a launch or the caller writes to it.
  AnyBuffer of(const AnyBuffer &buffer);

  // For the library: the active one in this thread, or null, and a forward launch that becomes one with tangents.
  static TangentLaunches *current();
  void launch(const std::shared_ptr<KernelDefinition> &definition, const LaunchExtents &extents,
              const LaunchOptions &options, std::span<const Argument> arguments);
  void perform(const HostOperation &operation);

 private:
  struct Shadow {
    std::shared_ptr<Storage> values;  // kept, so that no other storage reuses its address
    std::shared_ptr<Storage> tangents;
  };
  std::unordered_map<const Storage *, Shadow> shadows_;
};

}  // namespace samite::jit
