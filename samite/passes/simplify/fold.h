// Folds one operation whose operands are known or special.
#pragma once

#include "samite/ir/stmt.h"

#include <optional>

namespace samite::passes {

// The operation's result if it is a constant or one of the operands, else empty.
//
// Integers and bools fold as on the target, modulo 2^n; divisions by zero are left to the target. Floating + - * / fold
// in the operation's own precision, with round to nearest. x + 0, x - 0, x * 1 and x / 1 are x, so that the adjoint may
// add to an empty sum: a negative zero keeps its sign except in (-0) + 0. Nothing is assumed about NaN or infinity: x *
// 0 stays.
std::optional<ir::Value> fold(const ir::Operation &operation);

}  // namespace samite::passes
