// Grouped products of terms with types chosen at run time:
//
//   c[g] = a[:, offsets[g] .. offsets[g + 1]] b[offsets[g] .. offsets[g + 1]]
//
// for bindings to other languages. The gradient of a grouped product of rows (ops/grouped_matmul.h) with respect to its
// right factors is one: of the transposed left factor and the cotangent. `offsets` are as there. The result of a group
// without terms is zero.
#pragma once

#include "samite/ops/grouped_rows.h"
#include "samite/ops/planned_launch.h"

namespace samite::ops {

// a (rows x terms) times b (terms x columns).
struct GroupedTermsShape {
  std::int64_t groups = 1, rows = 0, columns = 0, terms = 0;
};

// Types as in GroupedByType. Arguments (a, b, offsets, c); a and b are matrices, c has one for each group.
struct GroupedTermsByType {
  ScalarType factor, result;
  tile::Transposes transposed = {};
  tile::Precision precision = tile::Precision::full;
  bool checked = false;  // checks that the offsets increase
};
// UserError if there is no such product.
PlannedLaunch grouped_terms_launch(const GroupedTermsByType &kind, const GroupedTermsShape &shape,
                                   const PlanDevice &device, SourceLocation where = std::source_location::current());

}  // namespace samite::ops
