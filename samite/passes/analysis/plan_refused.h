// The refusal of a kernel whose plan (ir/tile_plan.h) does not hold.
//
// A step that cannot obey a field throws it, with a plan in which it has changed this field. The planner then follows
// the refusals of that plan by other steps, so that the message names a plan that holds (jit/steps.h).
#pragma once

#include "samite/base/error.h"
#include "samite/ir/kernel.h"

#include <string>

namespace samite::passes {

class PlanRefused : public UserError {
 public:
  // `asked`: the refused fields, as in "teams 2". `reason` completes "but …".
  PlanRefused(const ir::Kernel &kernel, const std::string &asked, const std::string &reason, const TilePlan &nearest);

  // The kernel's plan at that step, which has the choices of the steps before it, too.
  const TilePlan &plan() const { return plan_; }
  const TilePlan &nearest() const { return nearest_; }
  // The same refusal with another nearest plan.
  PlanRefused with_nearest(const TilePlan &nearest) const;

 private:
  PlanRefused(SourceLocation where, const std::string &text, const TilePlan &plan, const TilePlan &nearest);

  std::string text_;  // without the nearest plan
  TilePlan plan_, nearest_;
};

}  // namespace samite::passes
