#include "samite/runtime/storage.h"

#include "samite/base/error.h"
#include "samite/runtime/cuda_memory.h"
#include "samite/runtime/shared_elements.h"
#include "samite/runtime/write_log.h"

#include <fmt/format.h>

#include <sys/mman.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <utility>

namespace samite {
namespace {

constexpr std::size_t cache_line = 64;
constexpr std::size_t page = 4096;
constexpr std::size_t huge_page = std::size_t{2} << 20;
constexpr std::size_t smallest_mapping = std::size_t{64} << 10;

[[noreturn]] void throw_out_of_memory(std::size_t bytes, int error) {
  throw DeviceError(fmt::format("allocation of {} bytes on cpu", bytes), std::strerror(error));
}

std::size_t round_up(std::size_t bytes, std::size_t multiple) { return (bytes + multiple - 1) / multiple * multiple; }

}  // namespace

void Storage::Release::operator()(std::byte *memory) const noexcept {
  if (mapped_bytes == 0)
    std::free(memory);
  else
    munmap(memory, mapped_bytes);
}

Storage::Memory Storage::allocate(std::size_t bytes) {
  if (bytes < smallest_mapping) {
    std::size_t rounded = round_up(std::max<std::size_t>(bytes, 1), cache_line);
    void *memory = std::aligned_alloc(cache_line, rounded);
    if (memory == nullptr) throw_out_of_memory(bytes, ENOMEM);
    std::memset(memory, 0, rounded);
    return Memory(static_cast<std::byte *>(memory), Release{0});
  }
  if (bytes > std::numeric_limits<std::size_t>::max() / 2) throw_out_of_memory(bytes, ENOMEM);

  // The system aligns to a page only: for huge pages map one more than needed and give the ends back.
  std::size_t kept = round_up(bytes, page);
  std::size_t slack = bytes >= huge_page ? huge_page : 0;
  void *mapping = mmap(nullptr, kept + slack, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (mapping == MAP_FAILED) throw_out_of_memory(bytes, errno);
  auto *memory = static_cast<std::byte *>(mapping);
  if (slack != 0) {
    std::size_t before = (huge_page - reinterpret_cast<std::uintptr_t>(memory) % huge_page) % huge_page;
    if (before != 0) munmap(memory, before);
    memory += before;
    if (before != slack) munmap(memory + kept, slack - before);
    // A hint: if huge pages are disabled, memory is only slower.
    madvise(memory, kept, MADV_HUGEPAGE);
  }
  return Memory(memory, Release{kept});
}

Storage::Storage(Device device, std::size_t bytes) : device_(device), bytes_(bytes) {
  if (device.kind() == DeviceKind::cpu) {
    memory_ = allocate(bytes);
    data_ = memory_.get();
  } else {
    cuda_ = std::make_unique<CudaMemory>(CudaDevice::of(device.index()), bytes);
    data_ = cuda_->data();
  }
}

Storage::Storage(Device device, std::size_t bytes, FromPool) : device_(device), bytes_(bytes) {
  if (device.kind() == DeviceKind::cpu) {
    data_ = scratch_.emplace(bytes).data();
  } else {
    cuda_ = std::make_unique<CudaMemory>(CudaDevice::of(device.index()), bytes, CudaMemory::Contents::any);
    data_ = cuda_->data();
  }
}

Storage::Storage(Device device, std::size_t bytes, Borrowed memory)
    : device_(device),
      bytes_(bytes),
      is_borrowed_(true),
      is_read_only_(memory.read_only),
      owner_(std::move(memory.owner)),
      data_(memory.data) {
  if (device.kind() == DeviceKind::cuda)
    cuda_ = std::make_unique<CudaMemory>(CudaDevice::of(device.index()), data_, std::move(memory.stream));
}

Storage::~Storage() = default;

// Not inline: GCC 12 assumes a null storage in some callers, which no launch has, and warns about writing to it.
void Storage::mark_written() noexcept {
  const std::uint64_t version = writes_.version.fetch_add(1, std::memory_order_relaxed) + 1;
  WriteLog *log = writes_.log.load(std::memory_order_acquire);
  if (!log) return;
  ElementRegion all{data_, {}, {}, 1};
  all.extents = Extents{static_cast<std::int64_t>(bytes_)};
  all.strides[0] = 1;
  log->note(version, all);
}

void Storage::mark_written(const AnyBuffer &view) noexcept {
  const std::uint64_t version = writes_.version.fetch_add(1, std::memory_order_relaxed) + 1;
  WriteLog *log = writes_.log.load(std::memory_order_acquire);
  if (!log) return;
  ElementRegion region = region_of(view);
  region.data = data_ + (region.data - view.storage()->data());
  log->note(version, region);
}

const WriteLog &Storage::watch() {
  std::lock_guard lock(writes_.mutex);
  if (!writes_.kept_log) writes_.kept_log = std::make_unique<WriteLog>();
  ++writes_.watchers;
  writes_.log.store(writes_.kept_log.get(), std::memory_order_release);
  return *writes_.kept_log;
}

void Storage::unwatch() noexcept {
  std::lock_guard lock(writes_.mutex);
  if (--writes_.watchers > 0) return;
  writes_.log.store(nullptr, std::memory_order_release);
  writes_.kept_log->clear();
}

void Storage::track_gradient() {
  std::lock_guard lock(gradient_.mutex);
  if (gradient_.storage) return;
  gradient_.storage = std::make_shared<Storage>(device_, bytes_);
  if (!name_.empty()) gradient_.storage->set_name("gradient of " + name_);
  gradient_.data.store(gradient_.storage->data(), std::memory_order_release);
}

void Storage::set_name(std::string name) {
  name_ = std::move(name);
  if (gradient_.storage) gradient_.storage->set_name("gradient of " + name_);
}

}  // namespace samite
