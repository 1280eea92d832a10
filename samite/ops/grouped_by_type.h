// Grouped products of rows with types chosen at run time, with a layer's epilogue:
//
//   c[rows of g] = activation(a[rows of g] b[g] + bias[g])
//
// for bindings to other languages. ops/grouped_matmul.h is for C++, where an epilogue is any function.
#pragma once

#include "samite/ops/grouped_matmul.h"
#include "samite/ops/matmul_by_type.h"

namespace samite::ops {

// Types as in MatmulByType, without integers. Arguments (a, b, offsets, bias, c), the bias only if there is one; it has
// a row for each group, of c's type. There is no residual.
struct GroupedByType {
  ScalarType factor;
  LayerEpilogue epilogue;
  bool b_transposed = false;
  tile::Precision precision = tile::Precision::full;
  bool checked = false;         // checks that the offsets increase
  bool differentiated = false;  // the plan is to suit the derived adjoint, too
};
// UserError if there is no such product.
PlannedLaunch grouped_matmul_launch(const GroupedByType &kind, const GroupedShape &shape, const PlanDevice &device,
                                    SourceLocation where = std::source_location::current());

// Overwrites the gradients of a and b for that of c, for the grouped product c = a b: two products, each as fast as the
// forward one, while the derived adjoint of a launch adds to gradients atomically.
//
//   a_gradient[rows of g] = c_gradient[rows of g] b[g]ᵀ          b_gradient[g] = a[rows of g]ᵀ c_gradient[rows of g]
//
// Rows of a_gradient in no group stay unchanged; for a group without rows, b_gradient is zero. All but the offsets have
// one type: half, bfloat16, float or double. b is (groups x inner x columns), or transposed (groups x columns x inner),
// as for ops::grouped_matmul; b_gradient is like b. UserError if their shapes do not match.
void grouped_matmul_adjoint(const AnyBuffer &a, const AnyBuffer &b, const AnyBuffer &offsets,
                            const AnyBuffer &c_gradient, const AnyBuffer &a_gradient, const AnyBuffer &b_gradient,
                            const MatmulOptions &options = {}, SourceLocation where = std::source_location::current());

// Types as in ScaledMatmulByType. Arguments (a, b, scale_a, scale_b, offsets, bias, c), the bias only if there is one.
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
