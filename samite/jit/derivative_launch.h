// Launches in a thread that computes tangents or records a tape.
//
// A tape differentiates forward launches. An adjoint or tangent launch is a forward launch, too: of the kernel that the
// derivative is (KernelDefinition::adjoint_kernel), whose parameters are the kernel's and their gradients. As that it
// goes on the tape, so that a later launch may depend on gradients, and the tape goes back through them.
#pragma once

#include "samite/jit/launch.h"

#include <functional>
#include <memory>
#include <span>

namespace samite::jit {

// Puts a launch on the tape of this thread, or launches it with tangents; `run` runs it as it is. The launch has been
// checked. UserError where it is a derivative that has no kernel of its own: whose arrays share memory, say.
void launch_for_derivatives(const std::shared_ptr<KernelDefinition> &definition, const LaunchExtents &extents,
                            const LaunchOptions &options, std::span<const Argument> arguments,
                            const std::function<void()> &run);

}  // namespace samite::jit
