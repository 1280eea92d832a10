// Notes that an adjoint takes while it runs, of the first contribution to a gradient that is not finite.
//
// A noting adjoint is an adjoint with three more arrays behind its parameters: `first` (i64, 2), whose element 0
// becomes the least number of an instance with something to note, and whose element 1 says which instance's note is
// wanted; `extents` (i64), those of the launch, by which instances are numbered, the last dimension fastest; `record`
// (f64), which gets the wanted instance's note: the number of the site, the contribution, the cotangent, and up to two
// operands.
#pragma once

#include "samite/base/source_location.h"
#include "samite/ir/value.h"

#include <optional>
#include <string>
#include <vector>

namespace samite::autodiff {

struct Notes {
  static constexpr int record_size = 5;

  // A place where the adjoint adds to a gradient.
  struct Site {
    SourceLocation where;  // of the primal statement
    std::string what;      // "div", or what else is differentiated there
    int values = 0;        // how many of cotangent and operands are noted
  };
  std::vector<Site> sites;
};

}  // namespace samite::autodiff
