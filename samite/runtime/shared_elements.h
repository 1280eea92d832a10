// Whether two views of one storage share an element.
#pragma once

#include "samite/runtime/any_buffer.h"
#include "samite/runtime/write_log.h"

namespace samite {

// Never false if they do, and false for slices of one array that are disjoint in some dimension, with any steps; true
// for others if an exact answer would take long.
bool share_elements(const AnyBuffer &a, const AnyBuffer &b);
bool share_elements(const ElementRegion &a, const ElementRegion &b);

ElementRegion region_of(const AnyBuffer &view) noexcept;

}  // namespace samite
