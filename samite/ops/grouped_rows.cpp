#include "samite/ops/grouped_rows.h"

namespace samite::ops {

MatmulPlan grouped_plan(const GroupedShape &shape, MatmulFactors factors, const PlanDevice &device) {
  factors.rows_vary = true;
  return matmul_plan({shape.groups, detail::ceil_div(shape.rows, shape.groups), shape.columns, shape.inner}, factors,
                     device);
}

Extents grouped_blocks(const GroupedShape &shape, const MatmulPlan &plan) {
  return {shape.rows / plan.rows + shape.groups, detail::ceil_div(shape.columns, plan.columns)};
}

}  // namespace samite::ops
