#include "samite/runtime/cuda_memory.h"

#include "samite/base/thread_mode.h"
#include "samite/driver/capture.h"
#include "samite/driver/copy.h"
#include "samite/driver/event.h"

#include <algorithm>

namespace samite {
namespace {

// Later work in `later` waits for the current work in `earlier`.
void order(const driver::Stream &earlier, const driver::Stream &later) {
  const driver::Event event = driver::Event::create(earlier.context());
  event.record(earlier);
  later.wait(event);
}

// Atomic operations on single bytes access the word around them, and vectors are loaded whole.
std::size_t whole_vectors(std::size_t bytes) {
  constexpr std::size_t vector_bytes = 16;
  return std::max((bytes + vector_bytes - 1) / vector_bytes, std::size_t{1}) * vector_bytes;
}

}  // namespace

CudaMemory::CudaMemory(std::shared_ptr<const CudaDevice> device, std::size_t bytes, Contents contents)
    : device_(std::move(device)), home_(device_->standard_stream()) {
  if (is_in(ThreadMode::captures_graph))
    allocate_apart(bytes, contents);
  else
    allocate_in(home_->stream(), bytes, contents);
  data_ = std::bit_cast<std::byte *>(memory_->address());
}

void CudaMemory::allocate_in(const driver::Stream &stream, std::size_t bytes, Contents contents) {
  memory_ = driver::DeviceMemory::allocate(stream, device_->pool(), whole_vectors(bytes));
  if (contents == Contents::zeros) driver::fill_bytes(stream, memory_->address(), 0, bytes);
}

// The thread captures a stream of this device, maybe the standard one: memory allocated there would belong to the
// graph.
void CudaMemory::allocate_apart(std::size_t bytes, Contents contents) {
  const driver::AllowedInCaptures allowed(device_->context());
  const driver::Stream apart = driver::Stream::create(device_->context());
  allocate_in(apart, bytes, contents);
  apart.synchronize();
  memory_->free_in(home_->stream());
}

CudaMemory::CudaMemory(std::shared_ptr<const CudaDevice> device, std::byte *data,
                       const std::shared_ptr<CudaStream> &home)
    : device_(std::move(device)), home_(home ? home : device_->standard_stream()), data_(data) {}

CudaMemory::~CudaMemory() {
  for (const auto &other : others_) wait_before_it_goes(other->stream());
}

// The memory is freed in the order of its stream: after the work in `other`.
void CudaMemory::wait_before_it_goes(const driver::Stream &other) const noexcept {
  try {
    try {
      order(other, home_->stream());
    } catch (const std::exception &) {
      other.synchronize();
    }
  } catch (const std::exception &) {  // NOLINT(bugprone-empty-catch)
    // The context is lost, which an earlier error has reported; the memory is lost with it.
  }
}

void CudaMemory::used_by(const std::shared_ptr<CudaStream> &stream) {
  if (stream->stream() == home_->stream()) return;
  std::lock_guard lock(mutex_);
  auto same = [&](const auto &other) { return other->stream() == stream->stream(); };
  if (std::any_of(others_.begin(), others_.end(), same)) return;
  others_.reserve(others_.size() + 1);
  // A stream that is being captured must not wait for work outside of the capture: the host waits instead.
  if (stream->capturing()) {
    const driver::AllowedInCaptures allowed(device_->context());
    home_->stream().synchronize();
  } else {
    order(home_->stream(), stream->stream());
  }
  others_.push_back(stream);
}

template <class Visit>
void CudaMemory::each_other(const Visit &visit) const {
  if (!(home_->stream() == standard())) visit(home_->stream());
  for (const auto &other : others_)
    if (!(other->stream() == standard())) visit(other->stream());
}

void CudaMemory::begin_host_work() const {
  std::lock_guard lock(mutex_);
  each_other([&](const driver::Stream &other) { order(other, standard()); });
}

void CudaMemory::end_host_work() const {
  std::lock_guard lock(mutex_);
  each_other([&](const driver::Stream &other) { order(standard(), other); });
}

}  // namespace samite
