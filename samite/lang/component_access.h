// Access to a component of a vector or matrix by a traced index, with selects.
#pragma once

#include "samite/lang/array.h"

namespace samite::lang {

ir::Value load_component(const Access &access, ScalarType type);
void store_component(const Access &access, ir::Value value);

}  // namespace samite::lang
