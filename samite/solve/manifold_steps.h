// Steps on manifolds (manifold.h), inside kernels. For a running capture only.
#pragma once

#include "samite/lang/traced.h"
#include "samite/solve/manifold.h"

#include <vector>

namespace samite::solvers::detail {

using TracedNumbers = std::vector<Double>;

// The block after a step, with numbers on a manifold normalised.
TracedNumbers stepped(const Manifold &manifold, const TracedNumbers &x, const TracedNumbers &step);

// Converts the gradient with respect to the block's numbers to that with respect to a step at zero: the product with
// the transpose of the step's derivative.
TracedNumbers tangent_gradient(const Manifold &manifold, const TracedNumbers &x, const TracedNumbers &gradient);

}  // namespace samite::solvers::detail
