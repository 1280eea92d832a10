// The fake's memory.
#include "tests/driver/fake/state.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

namespace samite::driver::fake {
namespace {

constexpr std::size_t alignment = 512;

Result copy(Stream &stream, CUdeviceptr target, const void *source, std::size_t bytes) {
  if (const Result code = touch(stream, target, bytes); code != Result::success) return code;
  std::memcpy(reinterpret_cast<void *>(target), source, bytes);
  return Result::success;
}

Result copy_on_device(Stream &stream, CUdeviceptr target, CUdeviceptr source, std::size_t bytes) {
  if (const Result code = touch(stream, source, bytes); code != Result::success) return code;
  return copy(stream, target, reinterpret_cast<const void *>(source), bytes);
}

template <class Word>
Result fill(CUdeviceptr target, Word value, std::size_t count, CUstream handle) {
  Stream *stream = use(handle);
  if (stream == nullptr) return Result::invalid_handle;
  if (target % sizeof(Word) != 0) return state().mistake("the target is not aligned", Result::invalid_value);
  return submit(*stream, GraphNodeType::set_memory, [=](Stream &in) {
    const Result code = touch(in, target, count * sizeof(Word));
    if (code == Result::success) std::fill_n(reinterpret_cast<Word *>(target), count, value);
    return code;
  });
}

// Memory that a pool has kept is used again before the device is asked.
Result reserve(Pool &pool, std::size_t bytes) {
  if (pool.max_bytes != 0 && pool.used + bytes > pool.max_bytes) return Result::out_of_memory;
  const std::uint64_t kept = pool.reserved - pool.used;
  const std::uint64_t more = bytes > kept ? bytes - kept : 0;
  if (more > state().free_bytes(pool.device)) return Result::out_of_memory;
  pool.reserved += more;
  pool.used += bytes;
  return Result::success;
}

}  // namespace

std::size_t State::free_bytes(int device) const {
  std::size_t free = options.device_bytes - kept_by_others;
  for (const auto &pool : pools)
    if (pool->device == device) free -= pool->reserved;
  return free;
}

Result MemGetInfo(std::size_t *free, std::size_t *total) {
  const Context *context = current();
  if (context == nullptr) return Result::invalid_context;
  *free = state().free_bytes(context->device);
  *total = state().options.device_bytes;
  return Result::success;
}

Result MemPoolCreate(CUmemoryPool *handle, const MemoryPoolProperties *properties) {
  if (properties->allocation_type != MemoryAllocationType::pinned ||
      properties->location.type != MemoryLocationType::device)
    return Result::invalid_value;
  Pool &pool = state().pools.add();
  pool.device = properties->location.device;
  pool.max_bytes = properties->max_bytes;
  *handle = handle_of<CUmemoryPool>(pool);
  return Result::success;
}

Result MemPoolDestroy(CUmemoryPool handle) {
  Pool *pool = use(handle);
  if (pool == nullptr) return Result::invalid_handle;
  if (pool->standard) return state().mistake("the device's own pool cannot be destroyed", Result::invalid_value);
  if (pool->used > 0)
    return state().mistake("the pool is destroyed while memory of it is in use", Result::invalid_value);
  pool->destroyed = true;
  pool->reserved = 0;
  return Result::success;
}

Result MemPoolTrimTo(CUmemoryPool handle, std::size_t bytes_to_keep) {
  Pool *pool = use(handle);
  if (pool == nullptr) return Result::invalid_handle;
  pool->reserved = std::max(pool->used, std::min<std::uint64_t>(pool->reserved, bytes_to_keep));
  return Result::success;
}

Result MemPoolSetAttribute(CUmemoryPool handle, MemoryPoolAttribute attribute, void *value) {
  Pool *pool = use(handle);
  if (pool == nullptr) return Result::invalid_handle;
  if (attribute == MemoryPoolAttribute::release_threshold) std::memcpy(&pool->threshold, value, sizeof pool->threshold);
  return Result::success;
}

Result MemPoolGetAttribute(CUmemoryPool handle, MemoryPoolAttribute attribute, void *value) {
  const Pool *pool = use(handle);
  if (pool == nullptr) return Result::invalid_handle;
  const std::uint64_t answer = attribute == MemoryPoolAttribute::reserved_now        ? pool->reserved
                               : attribute == MemoryPoolAttribute::used_now          ? pool->used
                               : attribute == MemoryPoolAttribute::release_threshold ? pool->threshold
                                                                                     : 0;
  std::memcpy(value, &answer, sizeof answer);
  return Result::success;
}

Result MemPoolSetAccess(CUmemoryPool handle, const MemoryAccessDescription *access, std::size_t count) {
  Pool *pool = use(handle);
  if (pool == nullptr) return Result::invalid_handle;
  for (std::size_t i = 0; i < count; ++i)
    if (access[i].access == MemoryAccess::read_write) pool->peers.insert(access[i].location.device);
  return Result::success;
}

Result MemAllocFromPoolAsync(CUdeviceptr *address, std::size_t bytes, CUmemoryPool pool_handle, CUstream handle) {
  Stream *stream = use(handle);
  Pool *pool = use(pool_handle);
  if (stream == nullptr || pool == nullptr) return Result::invalid_handle;
  if (const Result code = refuse_in_capture(*stream); code != Result::success) return code;
  if (refused_in_capture()) return Result::stream_capture_unsupported;
  if (bytes == 0) return state().mistake("0 bytes were asked for", Result::invalid_value);
  if (const Result code = reserve(*pool, bytes); code != Result::success) return code;

  std::byte *memory = state().arena + state().arena_used;
  state().arena_used += (bytes + alignment) / alignment * alignment;
  std::fill_n(memory, bytes, std::byte{0xcd});  // new memory has arbitrary contents
  Allocation &allocation = state().allocations[reinterpret_cast<CUdeviceptr>(memory)];
  allocation = {.address = reinterpret_cast<CUdeviceptr>(memory),
                .bytes = bytes,
                .pool = pool,
                .stream = stream,
                .tick = advance(*stream),
                .uses = {},
                .freed = false};
  *address = allocation.address;
  return Result::success;
}

Result MemFreeAsync(CUdeviceptr address, CUstream handle) {
  Stream *stream = use(handle);
  if (stream == nullptr) return Result::invalid_handle;
  const auto found = state().allocations.find(address);
  if (found == state().allocations.end())
    return state().mistake(fmt::format("{:#x} is no allocation", address), Result::invalid_value);
  Allocation &allocation = found->second;
  if (allocation.freed)
    return state().mistake(fmt::format("{:#x} is freed a second time", address), Result::invalid_value);
  advance(*stream);
  for (const auto &[user, tick] : allocation.uses)
    if (!stream->clock.covers(user, tick) && stream->context->fault == Result::success)
      state().mistake(fmt::format("{:#x} is freed while another stream may use it", address), Result::invalid_value);
  allocation.freed = true;
  allocation.pool->used -= allocation.bytes;
  allocation.pool->reserved =
      std::max(allocation.pool->used, std::min(allocation.pool->reserved, allocation.pool->threshold));
  return Result::success;
}

Result MemHostAlloc(void **address, std::size_t bytes, unsigned) {
  if (current() == nullptr) return Result::invalid_context;
  if (refused_in_capture()) return Result::stream_capture_unsupported;
  auto memory = std::make_unique<std::byte[]>(bytes);
  *address = memory.get();
  state().pinned_bytes[memory.get()] = bytes;
  state().pinned[memory.get()] = std::move(memory);
  return Result::success;
}

Result MemFreeHost(void *address) {
  if (refused_in_capture()) return Result::stream_capture_unsupported;
  if (!state().pinned.contains(address)) return state().mistake("this is no pinned memory", Result::invalid_value);
  if (!state().freed_pinned.insert(address).second)
    return state().mistake("pinned memory is freed a second time", Result::invalid_value);
  const auto [first, last] = state().pinned_uses.equal_range(address);
  for (auto use = first; use != last; ++use) {
    const auto &[stream, tick] = use->second;
    if (!state().host.covers(stream, tick) && stream->context->fault == Result::success)
      return state().mistake("pinned memory is freed while a copy may use it", Result::invalid_value);
  }
  return Result::success;
}

Result PointerGetAttribute(void *value, PointerAttribute attribute, CUdeviceptr address) {
  const auto after = state().allocations.upper_bound(address);
  if (after == state().allocations.begin() || attribute != PointerAttribute::device_ordinal)
    return Result::invalid_value;
  std::memcpy(value, &std::prev(after)->second.pool->device, sizeof(int));
  return Result::success;
}

Result MemcpyAsync(CUdeviceptr target, CUdeviceptr source, std::size_t bytes, CUstream stream) {
  return MemcpyDtoDAsync(target, source, bytes, stream);
}

Result MemcpyHtoDAsync(CUdeviceptr target, const void *source, std::size_t bytes, CUstream handle) {
  Stream *stream = use(handle);
  if (stream == nullptr) return Result::invalid_handle;
  return submit(*stream, GraphNodeType::copy, [=](Stream &in) {
    touch_host(in, source);
    return copy(in, target, source, bytes);
  });
}

Result MemcpyDtoHAsync(void *target, CUdeviceptr source, std::size_t bytes, CUstream handle) {
  Stream *stream = use(handle);
  if (stream == nullptr) return Result::invalid_handle;
  return submit(*stream, GraphNodeType::copy, [=](Stream &in) {
    const Result code = touch(in, source, bytes);
    touch_host(in, target);
    if (code == Result::success) std::memcpy(target, reinterpret_cast<const void *>(source), bytes);
    return code;
  });
}

Result MemcpyDtoDAsync(CUdeviceptr target, CUdeviceptr source, std::size_t bytes, CUstream handle) {
  Stream *stream = use(handle);
  if (stream == nullptr) return Result::invalid_handle;
  return submit(*stream, GraphNodeType::copy, [=](Stream &in) { return copy_on_device(in, target, source, bytes); });
}

// The copy engine reaches both devices, with or without peer access.
Result MemcpyPeerAsync(CUdeviceptr target, CUcontext, CUdeviceptr source, CUcontext, std::size_t bytes,
                       CUstream handle) {
  Stream *stream = use(handle);
  if (stream == nullptr) return Result::invalid_handle;
  return submit(*stream, GraphNodeType::copy, [=](Stream &in) {
    for (const CUdeviceptr address : {target, source}) {
      const auto after = state().allocations.upper_bound(address);
      if (after == state().allocations.begin() || std::prev(after)->second.freed)
        return state().mistake(fmt::format("{:#x} is no device memory", address), Result::invalid_value);
    }
    advance(in);
    std::memcpy(reinterpret_cast<void *>(target), reinterpret_cast<const void *>(source), bytes);
    return Result::success;
  });
}

Result MemsetD8Async(CUdeviceptr target, unsigned char value, std::size_t count, CUstream stream) {
  return fill(target, value, count, stream);
}

Result MemsetD32Async(CUdeviceptr target, unsigned value, std::size_t count, CUstream stream) {
  return fill(target, value, count, stream);
}

}  // namespace samite::driver::fake
