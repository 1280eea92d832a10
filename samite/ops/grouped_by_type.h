// Products of groups of rows whose types are known when the program runs, with the epilogue of a layer:
//
//   c[rows of g] = activation(a[rows of g] b[g] + bias[g])
//
// for callers from other languages. ops/grouped_matmul.h is for C++, where an epilogue is any function.
#pragma once

#include "samite/ops/grouped_rows.h"
#include "samite/ops/matmul_by_type.h"

namespace samite::ops {

// Types as those of MatmulByType, but for integers. Arguments (a, b, offsets, bias, c), without a bias where there is
// none; it has a row for each group, of c's type. There is no residual.
struct GroupedByType {
  ScalarType factor;
  LayerEpilogue epilogue;
  bool b_transposed = false;
  tile::Precision precision = tile::Precision::full;
  bool checked = false;  // asks whether the offsets rise
};
// UserError where there is no such product.
PlannedLaunch grouped_matmul_launch(const GroupedByType &kind, const GroupedShape &shape, const PlanDevice &device,
                                    SourceLocation where = std::source_location::current());

// Types as those of ScaledMatmulByType. Arguments (a, b, scale_a, scale_b, offsets, bias, c) likewise.
struct ScaledGroupedByType {
  ScalarType a, b;
  ScaleGroups scales_of_a, scales_of_b;
  LayerEpilogue epilogue;
  bool b_transposed = false;
  bool checked = false;
};
PlannedLaunch scaled_grouped_matmul_launch(const ScaledGroupedByType &kind, const GroupedShape &shape,
                                           const PlanDevice &device,
                                           SourceLocation where = std::source_location::current());

}  // namespace samite::ops
