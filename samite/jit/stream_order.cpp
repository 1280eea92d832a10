#include "samite/jit/stream_order.h"

#include "samite/runtime/cuda_device.h"
#include "samite/runtime/event.h"

namespace samite::jit {

void order(const Stream &earlier, const Stream &later) {
  Event event;
  event.record(earlier);
  later.wait(event);
}

void order_or_wait(const Stream &earlier, const Stream &later) {
  try {
    order(earlier, later);
  } catch (...) {
    if (earlier.cuda()) earlier.cuda()->stream().synchronize();
    throw;
  }
}

}  // namespace samite::jit
