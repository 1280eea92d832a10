// Finding what first made a gradient infinite or NaN.
//
// An adjoint launch with `.check_finite = true` looks at the gradients before and after it runs. Where something is not
// finite afterwards, the adjoint is derived once more with a note after each contribution, and run on copies of the
// gradients: the first instance, by its index, in which a contribution was not finite is what is reported, with the
// line of the statement whose derivative it is and the numbers that went into it. What is fine costs a pass over the
// gradients; nothing else is compiled.
#pragma once

#include "samite/jit/arguments.h"

#include <functional>

namespace samite::jit {

// Calls `run`, an adjoint launch of these arguments. UserError where a gradient is not finite before or afterwards; the
// gradients are then as the launch has left them.
void run_checking_finite(KernelDefinition &definition, const VariantKey &key, const Extents &extents,
                         std::span<const Argument> arguments, const std::function<void()> &run);

}  // namespace samite::jit
