// A component of a vector or matrix that a traced index chooses, by selects.
#pragma once

#include "samite/lang/array.h"

namespace samite::lang {

ir::Value load_component(const Access &access, ScalarType type);
void store_component(const Access &access, ir::Value value);

}  // namespace samite::lang
