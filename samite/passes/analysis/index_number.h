// A constant of the type that indices of tiles, buffers and thread loops have.
#pragma once

#include "samite/ir/value.h"

namespace samite::passes {

inline ir::Value index_number(std::int64_t value) { return ir::Value::constant(ScalarType::Int32, value); }

}  // namespace samite::passes
