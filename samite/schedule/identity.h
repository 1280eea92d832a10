// The identity element of an operation.
#pragma once

#include "samite/ir/op.h"
#include "samite/ir/value.h"

#include <optional>

namespace samite::schedules {

// Nothing for an operation that cannot be reordered.
std::optional<ir::Value> identity_of(ir::Op op, ScalarType type);

}  // namespace samite::schedules
