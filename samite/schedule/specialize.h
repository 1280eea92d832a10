// What is known about a pipeline's integers under the condition of a specialization.
#pragma once

#include "samite/passes/interval.h"
#include "samite/schedule/algorithm.h"

#include <map>

namespace samite::schedules {

struct Facts {
  struct Multiple {
    std::int64_t modulus, rest;  // modulus * n + rest
  };
  // Of parameters and extents.
  std::map<passes::Symbol, std::int64_t> equal;
  std::map<passes::Symbol, Multiple> multiples;
  std::map<passes::Symbol, passes::Range> ranges;
};

// Of conditions such as extent == 64, 64 <= extent, extent % 8 == 0, and several of them joined by &&; what is of
// another form says nothing.
Facts facts_of(const Condition &condition);

}  // namespace samite::schedules
