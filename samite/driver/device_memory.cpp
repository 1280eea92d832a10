#include "samite/driver/device_memory.h"

#include <fmt/format.h>

#include <utility>

namespace samite::driver {

DeviceMemory DeviceMemory::allocate(const Stream &stream, const MemoryPool &pool, std::size_t bytes,
                                    const Origin &origin) {
  if (stream.context() != pool.context())
    throw UserError(fmt::format("memory was asked for from a pool of {} in the order of {}: both must be of one device",
                                pool.context().to_string(), stream.to_string()));
  auto state = std::make_shared<State>(stream, pool, bytes);
  if (bytes == 0) return DeviceMemory(std::move(state));

  const Context &context = stream.context();
  const Result code = context.try_call<Entry::MemAllocFromPoolAsync>(&state->address, bytes, pool.raw(), stream.raw());
  if (code == Result::out_of_memory) pool.fail_out_of_memory(bytes, origin);
  if (code != Result::success)
    context.fail(Entry::MemAllocFromPoolAsync, code, {&state->address, bytes, pool.raw(), stream.raw()}, origin);
  return DeviceMemory(std::move(state));
}

void DeviceMemory::free_in(const Stream &stream) {
  if (stream.context() != context())
    throw UserError(fmt::format("memory of {} was to be freed in the order of {}: both must be of one device",
                                context().to_string(), stream.to_string()));
  std::lock_guard lock(state_->mutex);
  state_->stream = stream;
}

DeviceMemory::State::~State() {
  if (address != 0) stream.context().release<Entry::MemFreeAsync>(address, stream.raw());
}

}  // namespace samite::driver
