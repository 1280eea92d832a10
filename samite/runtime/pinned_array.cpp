#include "samite/runtime/pinned_array.h"

#include "samite/base/error.h"
#include "samite/driver/event.h"
#include "samite/driver/pinned_memory.h"
#include "samite/runtime/cuda_device.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <mutex>
#include <optional>
#include <utility>
#include <vector>

namespace samite {

struct AnyPinnedArray::Memory {
  // The last copy of a stream.
  struct Use {
    driver::Stream stream;
    driver::Event copied;

    void wait_before_it_goes() const noexcept {
      try {
        copied.synchronize();
      } catch (const std::exception &) {
        wait_for_the_stream();
      }
    }
    void wait_for_the_stream() const noexcept {
      try {
        stream.synchronize();
      } catch (const std::exception &) {  // NOLINT(bugprone-empty-catch)
        // The context is lost, and no copy is running; the next use of the device reports the error.
      }
    }
  };

  std::shared_ptr<const CudaDevice> device;      // null on the CPU
  std::unique_ptr<std::byte[]> on_heap;          // of the CPU
  std::optional<driver::PinnedMemory> pinned{};  // of a CUDA device
  std::mutex mutex{};                            // protects `uses`
  std::vector<Use> uses{};

  Memory(Device on, std::size_t bytes) {
    if (on.kind() == DeviceKind::cpu) {
      on_heap = std::make_unique<std::byte[]>(bytes);
      return;
    }
    device = CudaDevice::of(on.index());
    pinned = driver::PinnedMemory::allocate(device->context(), bytes);
    if (bytes != 0) std::memset(pinned->data(), 0, bytes);
  }
  Memory(const Memory &) = delete;
  Memory &operator=(const Memory &) = delete;
  ~Memory() {
    for (const Use &use : uses) use.wait_before_it_goes();
  }

  // The entry of the stream, which must exist.
  Use &use_of(const driver::Stream &queue) {
    return *std::ranges::find_if(uses, [&](const Use &use) { return use.stream == queue; });
  }

  void wait() {
    std::vector<Use> waited;
    {
      std::lock_guard lock(mutex);
      waited = uses;
    }
    for (const Use &use : waited) use.copied.synchronize();
  }
};

AnyPinnedArray::AnyPinnedArray(Device device, ScalarType type, const Extents &extents, SourceLocation where)
    : device_(device), type_(type), extents_(extents) {
  std::int64_t bytes;
  if (__builtin_mul_overflow(extents.count(), static_cast<std::int64_t>(size_of(type)), &bytes))
    throw UserError(where, fmt::format("an array of {}{} has more bytes than 64 bits can count", samite::name(type),
                                       extents.to_string()));
  memory_ =
      at_call("allocated", where, [&] { return std::make_shared<Memory>(device, static_cast<std::size_t>(bytes)); });
}

std::byte *AnyPinnedArray::bytes() const noexcept {
  return memory_->pinned ? static_cast<std::byte *>(memory_->pinned->data()) : memory_->on_heap.get();
}

void AnyPinnedArray::synchronize() const { memory_->wait(); }

void AnyPinnedArray::will_be_used_by(const Stream &stream) const {
  if (!stream.cuda()) return;
  const driver::Stream &queue = stream.cuda()->stream();
  std::lock_guard lock(memory_->mutex);
  if (std::ranges::none_of(memory_->uses, [&](const Memory::Use &use) { return use.stream == queue; }))
    memory_->uses.push_back({queue, driver::Event::create(queue.context())});
}

void AnyPinnedArray::used_by(const Stream &stream) const {
  if (!stream.cuda()) return;
  const driver::Stream &queue = stream.cuda()->stream();
  std::lock_guard lock(memory_->mutex);
  const Memory::Use &use = memory_->use_of(queue);
  try {
    use.copied.record(queue);
  } catch (...) {
    use.wait_for_the_stream();
    throw;
  }
}

std::string AnyPinnedArray::to_string() const {
  return fmt::format("PinnedArray<{}>{} of {}", samite::name(type_), extents_.to_string(), device_.to_string());
}

}  // namespace samite
