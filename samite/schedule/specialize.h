// Facts about a pipeline's integers under the condition of a specialization.
#pragma once

#include "samite/passes/analysis/interval.h"
#include "samite/schedule/algorithm.h"

#include <map>

namespace samite::schedules {

struct Facts {
  struct Multiple {
    std::int64_t modulus, rest;  // modulus * n + rest
  };
  // Facts about parameters and extents.
  std::map<passes::Symbol, std::int64_t> equal;
  std::map<passes::Symbol, Multiple> multiples;
  std::map<passes::Symbol, passes::Range> ranges;
};

// From conditions such as extent == 64, 64 <= extent and extent % 8 == 0, possibly joined by &&. Conditions of another
// form give no facts.
Facts facts_of(const Condition &condition);

}  // namespace samite::schedules
