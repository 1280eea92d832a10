// Checks of gradients against central differences.
//
//   GradientReport report = gradcheck([&] { kernel.launch({n}, y, x); }, {x}, {y});
//   GradientReport report = gradcheck(kernel, {n}, y, x);
//   EXPECT_TRUE(report.passed) << report;
//
// The work is any function that launches kernels, see jit/work.h, or one launch of a kernel. Everything is in double,
// since differences of floats keep at most half of the digits.
#pragma once

#include "samite/jit/gradient_report.h"
#include "samite/jit/work.h"

namespace samite {

// Compares the gradient of a random combination of all outputs, by the adjoint of `work`, with its central differences.
// Each output is scaled by its own size, so that small ones are checked along with large ones. Inputs and outputs track
// gradients; an array may be both. Contents and gradients are restored, except for the gradients of inputs, which hold
// the checked gradient. UserError if an array tracks none, and as in Tape::backward.
GradientReport gradcheck(FunctionRef<void()> work, std::vector<Buffer<double>> inputs,
                         std::vector<Buffer<double>> outputs, const GradientCheckOptions &options = {},
                         SourceLocation where = std::source_location::current());

namespace jit {
GradientReport gradcheck(FunctionRef<void()> work, const DifferentiableArguments &arguments,
                         const GradientCheckOptions &options, SourceLocation where);
}

// For one launch: of the arrays that the kernel writes, with respect to all arguments, among those that track
// gradients. UserError if one of these is not of double, or if none that the kernel reads, or writes, tracks them.
template <class... Ps>
GradientReport gradcheck(const Kernel<void(Ps...)> &kernel, const LaunchExtents &extents,
                         const GradientCheckOptions &options,
                         const std::type_identity_t<jit::ArgumentFor<Ps>> &...arguments) {
  const auto views = jit::views_of<Ps...>(arguments...);
  return jit::gradcheck([&] { kernel.launch(extents, arguments...); },
                        jit::differentiable_arguments(*kernel.definition(), views, extents.where()), options,
                        extents.where());
}
template <class... Ps>
GradientReport gradcheck(const Kernel<void(Ps...)> &kernel, const LaunchExtents &extents,
                         const std::type_identity_t<jit::ArgumentFor<Ps>> &...arguments) {
  return gradcheck(kernel, extents, GradientCheckOptions{}, arguments...);
}

}  // namespace samite
