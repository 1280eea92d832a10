// A driver object that is destroyed with its last handle.
#pragma once

#include "samite/driver/context.h"

#include <memory>
#include <type_traits>

namespace samite::driver {

// Shares `raw`, an object made in `context`, which it keeps alive. After the last copy is gone, `destroy` is called
// with the context current.
template <Entry destroy, class Handle>
std::shared_ptr<std::remove_pointer_t<Handle>> own(const Context &context, Handle raw) {
  return {raw, [context](Handle handle) { context.release<destroy>(handle); }};
}

}  // namespace samite::driver
