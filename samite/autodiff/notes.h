// Notes that an adjoint takes while it runs, of the first contribution to a gradient that is not finite.
//
// A noting adjoint is an adjoint with three more arrays behind its parameters:
//
//   first    i64, 2 elements. Element 0 becomes the least number of an instance that has something to note. Element 1
//            is the number of the instance whose note is wanted.
//   extents  i64: the extents of the launch. They number the instances, the last dimension fastest.
//   record   f64: the note of the wanted instance, which is the number of the site, the contribution, the cotangent,
//            and up to two operands.
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
