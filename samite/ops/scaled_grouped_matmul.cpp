#include "samite/ops/scaled_grouped_matmul.h"

#include "samite/base/error.h"

#include <fmt/format.h>

namespace samite::ops::detail {

ScaledPlan scaled_grouped_plan(const std::string &name, const GroupedShape &shape, MatmulFactors factors,
                               const ScaleGroups &of_a, const ScaleGroups &of_b, const PlanDevice &device,
                               SourceLocation where) {
  if (of_a.columns == ScaleGroup::one || of_b.rows == ScaleGroup::one) refuse_scale_for_each_term(name, where);
  if (of_a.rows == ScaleGroup::block)
    throw UserError(where,
                    fmt::format("{}: scale_a has one scale for {} rows of a, which may belong to several groups; "
                                "expected one of all, one of each row, or one of {} numbers of a row",
                                name, scale_block, scale_block));
  ScaledPlan plan{{}, of_a, of_b, {}};
  plan.describe(factors);
  plan.plan = grouped_plan(shape, factors, device);
  return plan;
}

}  // namespace samite::ops::detail
