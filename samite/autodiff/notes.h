// Notes that an adjoint takes at run time, about the first contribution to a gradient that is infinite or NaN.
//
//   A noting adjoint is an adjoint with three more arrays after its parameters:
//
//   first    i64, 2 elements. Element 0 becomes the least number of an instance with a note. Element 1 is the number
//            of the instance whose note is wanted.
//   extents  i64: the extents of the launch. They number the instances, the last dimension fastest.
//   record   f64: the note of the wanted instance: the number of the site, the contribution, the cotangent, and up to
//            two operands.
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
    std::string what;      // "div", or another name of the differentiated operation
    int values = 0;        // how many of the cotangent and the operands are recorded
  };
  std::vector<Site> sites;
};

}  // namespace samite::autodiff
