// Products of groups of rows whose types are known when the program runs, with the epilogue of a layer:
//
//   c[rows of g] = activation(a[rows of g] b[g] + bias[g])
//
// for callers from other languages. ops/grouped_matmul.h is for C++, where an epilogue is any function.
#pragma once

#include "samite/ops/grouped_matmul.h"
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

// Overwrites the gradients of a and b for that of c, of c = a b by groups: two products, each at the rate of the
// forward one, where the adjoint that is derived of a launch adds to gradients atomically.
//
//   a_gradient[rows of g] = c_gradient[rows of g] b[g]ᵀ          b_gradient[g] = a[rows of g]ᵀ c_gradient[rows of g]
//
// Rows of a_gradient in no group stay as they are; of a group without rows, b_gradient is zero. All but the offsets
// have one type: half, bfloat16, float or double. b (groups x inner x columns), or (groups x columns x inner) where it
// lies transposed, as ops::grouped_matmul has it; b_gradient as b. UserError where they do not fit each other.
void grouped_matmul_adjoint(const AnyBuffer &a, const AnyBuffer &b, const AnyBuffer &offsets,
                            const AnyBuffer &c_gradient, const AnyBuffer &a_gradient, const AnyBuffer &b_gradient,
                            const MatmulOptions &options = {}, SourceLocation where = std::source_location::current());

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
