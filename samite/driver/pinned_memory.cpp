#include "samite/driver/pinned_memory.h"

#include "samite/driver/capture.h"

#include <fmt/format.h>

namespace samite::driver {
namespace {

constexpr unsigned portable = 1;  // pinned for every context, not only for the current one

void free(const Context &context, void *address) noexcept {
  CaptureMode mode = CaptureMode::relaxed;
  context.release<Entry::ThreadExchangeStreamCaptureMode>(&mode);
  context.release<Entry::MemFreeHost>(address);
  context.release<Entry::ThreadExchangeStreamCaptureMode>(&mode);
}

}  // namespace

PinnedMemory PinnedMemory::allocate(const Context &context, std::size_t bytes) {
  if (bytes == 0) return {nullptr, 0};
  void *data = nullptr;
  const AllowedInCaptures allowed(context);
  const Result code = context.try_call<Entry::MemHostAlloc>(&data, bytes, portable);
  if (code == Result::out_of_memory)
    throw DriverError(code, fmt::format("out of memory on the host: {} bytes of pinned memory were asked for. Pinned "
                                        "memory cannot be swapped out, and the system limits it (ulimit -l, a "
                                        "container's memory).\ncuMemHostAlloc(bytes={}) failed: {}",
                                        bytes, bytes, context.driver().describe(code)));
  if (code != Result::success) context.fail(Entry::MemHostAlloc, code, {nullptr, bytes, portable});
  return {{data, [context](void *address) { free(context, address); }}, bytes};
}

}  // namespace samite::driver
