// Finds the first cause of an infinite or NaN gradient.
//
// An adjoint launch with `.check_finite = true` checks the gradients before and after it runs. If one is infinite or
// NaN afterwards, the adjoint is derived once more with a check of each contribution, and run on copies of the
// gradients. The error reports the first instance, by its index, with such a contribution, the line of the statement at
// fault, and the numbers involved. If all are finite, the check costs one pass over the gradients, and compiles
// nothing.
#pragma once

#include "samite/jit/arguments.h"

#include <functional>

namespace samite::jit {

// Calls `run`, an adjoint launch with these arguments. UserError if a gradient is infinite or NaN before or afterwards;
// the gradients keep the launch's results.
void run_checking_finite(KernelDefinition &definition, const VariantKey &key, const Extents &extents,
                         std::span<const Argument> arguments, const std::function<void()> &run);

}  // namespace samite::jit
