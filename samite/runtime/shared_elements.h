// Whether two views of one storage have an element in common.
#pragma once

#include "samite/runtime/any_buffer.h"
#include "samite/runtime/write_log.h"

namespace samite {

// Never false where they have, and false for slices of one array that are disjoint in some dimension, with whatever
// steps; true for others where to tell would take long.
bool share_elements(const AnyBuffer &a, const AnyBuffer &b);
bool share_elements(const ElementRegion &a, const ElementRegion &b);

ElementRegion region_of(const AnyBuffer &view) noexcept;

}  // namespace samite
