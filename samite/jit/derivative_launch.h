// Launches in a thread that computes tangents or records a tape.
//
// A tape differentiates forward launches. An adjoint or tangent launch is also a forward launch, of the derivative's
// kernel (KernelDefinition::adjoint_kernel), whose parameters are the kernel's and their gradients. The tape records it
// as such, so that later launches may depend on gradients, and the tape goes back through them.
#pragma once

#include "samite/jit/launch.h"

#include <functional>
#include <memory>
#include <span>

namespace samite::jit {

// Records a launch on this thread's tape, or launches it with tangents; `run` runs the plain launch. The launch has
// been checked. UserError for a derivative that has no kernel, for example because its arrays share memory.
void launch_for_derivatives(const std::shared_ptr<KernelDefinition> &definition, const LaunchExtents &extents,
                            const LaunchOptions &options, std::span<const Argument> arguments,
                            const std::function<void()> &run);

}  // namespace samite::jit
