#include "samite/driver/memory_pool.h"

#include "samite/driver/owned.h"

#include <fmt/format.h>

#include <utility>

namespace samite::driver {
namespace {

constexpr int first_version_with_limit = 12020;

std::string size_text(std::uint64_t bytes) {
  if (bytes < 1u << 20) return fmt::format("{} bytes", bytes);
  return fmt::format("{} bytes ({:.1f} GiB)", bytes, static_cast<double>(bytes) / (1u << 30));
}

}  // namespace

MemoryPool::MemoryPool(const Context &context, std::shared_ptr<CUmemPoolHandle_st> raw, std::uint64_t max_bytes)
    : context_(context), raw_(std::move(raw)), max_bytes_(max_bytes) {}

MemoryPool MemoryPool::standard(const Context &context) {
  CUmemoryPool raw = nullptr;
  context.call<Entry::DeviceGetDefaultMemPool>(&raw, context.raw_device());
  return {context, std::shared_ptr<CUmemPoolHandle_st>(std::shared_ptr<void>(), raw), 0};
}

MemoryPool MemoryPool::create(const Context &context, std::uint64_t max_bytes) {
  if (max_bytes != 0 && context.driver().version() < first_version_with_limit)
    throw DeviceError(fmt::format("a memory pool with a limit of {} bytes", max_bytes),
                      fmt::format("this needs a driver for CUDA {} or newer, and the one here is for CUDA {}",
                                  version_text(first_version_with_limit), version_text(context.driver().version())));
  MemoryPoolProperties properties{};
  properties.allocation_type = MemoryAllocationType::pinned;
  properties.location = {MemoryLocationType::device, context.raw_device()};
  properties.max_bytes = max_bytes;
  CUmemoryPool raw = nullptr;
  context.call<Entry::MemPoolCreate>(&raw, static_cast<const MemoryPoolProperties *>(&properties));
  return {context, own<Entry::MemPoolDestroy>(context, raw), max_bytes};
}

void MemoryPool::keep(std::uint64_t bytes) const {
  context_.call<Entry::MemPoolSetAttribute>(raw(), MemoryPoolAttribute::release_threshold, static_cast<void *>(&bytes));
}

void MemoryPool::trim(std::uint64_t bytes_to_keep) const {
  context_.call<Entry::MemPoolTrimTo>(raw(), std::size_t{bytes_to_keep});
}

std::uint64_t MemoryPool::attribute(MemoryPoolAttribute attribute) const {
  std::uint64_t value = 0;
  context_.call<Entry::MemPoolGetAttribute>(raw(), attribute, static_cast<void *>(&value));
  return value;
}

MemoryPool::Usage MemoryPool::usage() const {
  return {attribute(MemoryPoolAttribute::reserved_now), attribute(MemoryPoolAttribute::used_now)};
}

void MemoryPool::allow_access_from(const Context &peer) const {
  if (peer == context_) return;
  int possible = 0;
  context_.call<Entry::DeviceCanAccessPeer>(&possible, peer.raw_device(), context_.raw_device());
  if (possible == 0)
    throw DeviceError(
        fmt::format("{} cannot reach the memory of {}: the hardware has no path between them. Copy through "
                    "a copy call instead, which the driver routes over the host.",
                    peer.to_string(), context_.to_string()));
  const MemoryAccessDescription access{{MemoryLocationType::device, peer.raw_device()}, MemoryAccess::read_write};
  context_.call<Entry::MemPoolSetAccess>(raw(), &access, std::size_t{1});
}

void MemoryPool::fail_out_of_memory(std::uint64_t bytes, const Origin &origin) const {
  std::size_t free = 0, total = 0;
  context_.call_for<Entry::MemGetInfo>(origin, &free, &total);
  const Usage now = usage();
  std::string message = fmt::format(
      "{}out of memory on {}: {} were asked for. The pool holds {}, of which {} are in use; the device has {} "
      "free of {}.",
      origin.prefix(), context_.to_string(), size_text(bytes), size_text(now.reserved), size_text(now.used),
      size_text(free), size_text(total));
  if (max_bytes_ != 0) message += fmt::format(" The pool's limit is {}.", size_text(max_bytes_));
  const bool of_the_pool = max_bytes_ != 0 && now.used + bytes > max_bytes_;
  message += of_the_pool ? " The pool's limit is what is in the way."
             : now.used + bytes <= total
                 ? " Other users of the device, or memory that is free in pieces, are in the way."
                 : " The device is too small for this.";
  message += fmt::format("\ncuMemAllocFromPoolAsync(bytes={}) failed: {}", bytes,
                         context_.driver().describe(Result::out_of_memory));
  throw DriverError(Result::out_of_memory, message);
}

}  // namespace samite::driver
