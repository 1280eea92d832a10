// Orders two streams.
#pragma once

#include "samite/runtime/stream.h"

namespace samite::jit {

// Later work in `later` waits for the current work in `earlier`.
void order(const Stream &earlier, const Stream &later);

// The same for running work: if streams cannot be ordered, waits for it and throws its errors.
void order_or_wait(const Stream &earlier, const Stream &later);

}  // namespace samite::jit
