#include "samite/passes/analysis/plan_refused.h"

namespace samite::passes {
namespace {

std::string plan_in_words(const TilePlan &plan) {
  return plan == TilePlan() ? "one that leaves every field to the library" : "(" + to_string(plan) + ")";
}

}  // namespace

PlanRefused::PlanRefused(const ir::Kernel &kernel, const std::string &asked, const std::string &reason,
                         const TilePlan &nearest)
    : PlanRefused(kernel.where, "kernel '" + kernel.name + "': its plan asks for " + asked + ", but " + reason,
                  kernel.plan, nearest) {}

PlanRefused::PlanRefused(SourceLocation where, const std::string &text, const TilePlan &plan, const TilePlan &nearest)
    : UserError(where, text + "; the nearest plan that holds is " + plan_in_words(nearest)),
      text_(text),
      plan_(plan),
      nearest_(nearest) {}

PlanRefused PlanRefused::with_nearest(const TilePlan &nearest) const { return {where(), text_, plan_, nearest}; }

}  // namespace samite::passes
