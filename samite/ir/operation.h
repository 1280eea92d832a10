// An operation on values, which computes a local.
#pragma once

#include "samite/ir/op.h"
#include "samite/ir/value.h"

#include <cstdint>
#include <vector>

namespace samite::ir {

// The right side of a `Let`: an operation on atoms. `array` is the parameter or local array of a memory operation,
// `attribute` a dimension or flags, as `Typing` says.
struct Operation {
  Op op;
  Type type;
  std::vector<Value> operands;
  std::uint32_t array = 0;
  std::int32_t attribute = 0;

  friend bool operator==(const Operation &, const Operation &) = default;
};

}  // namespace samite::ir
