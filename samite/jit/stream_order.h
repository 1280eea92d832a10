// The order of two streams.
#pragma once

#include "samite/runtime/stream.h"

namespace samite::jit {

// What is put into `later` from now on waits for what is in `earlier` now.
void order(const Stream &earlier, const Stream &later);

// The same for work that runs already: where that cannot be, it is waited for, and what went wrong is thrown.
void order_or_wait(const Stream &earlier, const Stream &later);

}  // namespace samite::jit
