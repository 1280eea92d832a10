// Factors reductions into two steps: the directive rfactor.
//
// For f(i) = f(i) op value(r, k), rfactor(r, u) makes
//
//   partial(i, u) = the identity of op;   partial(i, u) = partial(i, u) op value(u, k)
//   f(i) = f(i) op partial(i, r)
//
// where r and k are loops of the update as scheduled so far. A loop that a split has made from a reduction variable
// becomes a variable of its own; if the last piece is partial, a condition skips what exceeds the whole. The operation
// runs in another order, so it must be reorderable: +, *, min, max, &, |, ^, or -, whose partial results are sums.
//
// An index that depends on a variable that f no longer loops over becomes the whole dimension: for a histogram, f adds
// up partial histograms.
#pragma once

#include "samite/schedule/directives.h"

namespace samite::schedules {

// Redefines the update that the directive is about, and defines the directive's Func. Returns the directives `before`,
// distributed to the two. The remaining loops of the reduction belong to the new Func. UserError if the update does not
// have this form.
std::vector<ir::Directive> with_factored_reduction(Algorithm &algorithm, std::vector<ir::Directive> before,
                                                   const ir::Directive &rfactor);

}  // namespace samite::schedules
