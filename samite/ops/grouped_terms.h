// Products of groups of terms, whose types are known when the program runs:
//
//   c[g] = a[:, offsets[g] .. offsets[g + 1]] b[offsets[g] .. offsets[g + 1]]
//
// for callers from other languages. The gradient of a product of groups of rows (ops/grouped_matmul.h) with respect to
// its right factors is one: of the left factor, transposed, and the cotangent. `offsets` are as there. A group without
// terms is a matrix of zeros.
#pragma once

#include "samite/ops/grouped_rows.h"
#include "samite/ops/planned_launch.h"

namespace samite::ops {

// a (rows x terms) by b (terms x columns).
struct GroupedTermsShape {
  std::int64_t groups = 1, rows = 0, columns = 0, terms = 0;
};

// Types as those of GroupedByType. Arguments (a, b, offsets, c); a and b are matrices, c has one for each group.
struct GroupedTermsByType {
  ScalarType factor, result;
  tile::Transposes transposed = {};
  tile::Precision precision = tile::Precision::full;
  bool checked = false;  // asks whether the offsets rise
};
// UserError where there is no such product.
PlannedLaunch grouped_terms_launch(const GroupedTermsByType &kind, const GroupedTermsShape &shape,
                                   const PlanDevice &device, SourceLocation where = std::source_location::current());

}  // namespace samite::ops
