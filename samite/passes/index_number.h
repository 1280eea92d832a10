// A number as the indices of tiles, buffers and loops over threads have it.
#pragma once

#include "samite/ir/value.h"

namespace samite::passes {

inline ir::Value index_number(std::int64_t value) { return ir::Value::constant(ScalarType::Int32, value); }

}  // namespace samite::passes
