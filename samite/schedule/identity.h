// The number that an operation leaves others as they are with.
#pragma once

#include "samite/ir/op.h"
#include "samite/ir/value.h"

#include <optional>

namespace samite::schedules {

// Nothing of an operation that may not be done in another order.
std::optional<ir::Value> identity_of(ir::Op op, ScalarType type);

}  // namespace samite::schedules
