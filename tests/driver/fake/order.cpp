// The order of work, and the memory that it may touch.
#include "tests/driver/fake/state.h"

#include <fmt/format.h>

#include <algorithm>

namespace samite::driver::fake {

void Clock::join(const Clock &other) {
  for (const auto &[stream, tick] : other.done) done[stream] = std::max(done[stream], tick);
}

bool Clock::covers(const Stream *stream, std::uint64_t tick) const {
  const auto known = done.find(stream);
  return known != done.end() && known->second >= tick;
}

Result State::mistake(const std::string &text, Result code) {
  mistakes.push_back(fmt::format("{}: {}", info(running).symbol, text));
  return code;
}

std::uint64_t advance(Stream &stream) {
  stream.clock.join(state().host);
  return ++stream.clock.done[&stream];
}

Result touch(Stream &stream, CUdeviceptr address, std::size_t bytes) {
  auto after = state().allocations.upper_bound(address);
  if (after == state().allocations.begin())
    return state().mistake(fmt::format("{:#x} is no device memory", address), Result::invalid_value);
  Allocation &allocation = std::prev(after)->second;
  if (address + bytes > allocation.address + allocation.bytes)
    return state().mistake(fmt::format("{} bytes at {:#x} are outside the memory before them", bytes, address),
                           Result::invalid_value);
  if (allocation.freed)
    return state().mistake(fmt::format("{:#x} is used after it was freed", address), Result::invalid_value);
  if (!stream.clock.covers(allocation.stream, allocation.tick))
    return state().mistake(fmt::format("{:#x} is used in a stream that has not waited for its allocation", address),
                           Result::invalid_value);
  const bool reachable =
      allocation.pool->device == stream.context->device || allocation.pool->peers.contains(stream.context->device);
  if (!reachable)
    return state().mistake(fmt::format("{:#x} of device {} is used on device {}, without access", address,
                                       allocation.pool->device, stream.context->device),
                           Result::invalid_value);
  allocation.uses[&stream] = stream.clock.done[&stream];
  return Result::success;
}

void touch_host(Stream &stream, const void *address) {
  const auto after = state().pinned_bytes.upper_bound(const_cast<void *>(address));
  if (after == state().pinned_bytes.begin()) return;
  const auto &[begin, bytes] = *std::prev(after);
  if (static_cast<const std::byte *>(address) >= static_cast<std::byte *>(begin) + bytes) return;
  state().pinned_uses.emplace(begin, std::pair(&stream, stream.clock.done[&stream]));
}

Result refuse_in_capture(Stream &stream) {
  if (!stream.capture) return Result::success;
  stream.capture->invalidated = true;
  return Result::stream_capture_unsupported;
}

}  // namespace samite::driver::fake
