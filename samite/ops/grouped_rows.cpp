#include "samite/ops/grouped_rows.h"

#include <algorithm>

namespace samite::ops {

MatmulPlan grouped_plan(const GroupedShape &shape, MatmulFactors factors, const PlanDevice &device) {
  factors.rows_vary = true;
  return matmul_plan({shape.groups, detail::ceil_div(shape.rows, shape.groups), shape.columns, shape.inner}, factors,
                     device);
}

MatmulPlan differentiated_grouped_plan(const GroupedShape &shape, MatmulFactors factors, const PlanDevice &device) {
  constexpr MatmulPlan largest{64, 64, 32, 128, 2};
  if (device.is_cpu()) return grouped_plan(shape, factors, device);
  factors.by_single_warps = true;
  const MatmulPlan plan = grouped_plan(shape, factors, device);
  return plan.rows > largest.rows ? largest : plan;
}

Extents grouped_blocks(const GroupedShape &shape, const MatmulPlan &plan) {
  return {shape.rows / plan.rows + shape.groups, detail::ceil_div(shape.columns, plan.columns)};
}

}  // namespace samite::ops
