#include "samite/runtime/stream.h"

#include "samite/base/error.h"
#include "samite/runtime/cuda_device.h"
#include "samite/runtime/event.h"

#include <algorithm>
#include <exception>
#include <ostream>
#include <utility>

namespace samite {

void CudaStream::add(const std::shared_ptr<StreamReport> &report) {
  std::lock_guard lock(mutex_);
  if (std::find(reports_.begin(), reports_.end(), report) == reports_.end()) reports_.push_back(report);
}

void CudaStream::synchronize() {
  stream_.synchronize();
  std::vector<std::shared_ptr<StreamReport>> reports;
  {
    std::lock_guard lock(mutex_);
    reports = std::exchange(reports_, {});
  }
  std::exception_ptr first;
  for (const auto &report : reports) {
    try {
      report->completed();
    } catch (...) {
      if (!first) first = std::current_exception();
    }
  }
  if (first) std::rethrow_exception(first);
}

Stream::Stream(Device device, int priority) : device_(device) {
  if (device.kind() == DeviceKind::cpu) return;
  auto cuda = CudaDevice::of(device.index());
  cuda_ = std::make_shared<CudaStream>(driver::Stream::create(cuda->context(), priority));
}

Stream Stream::standard(Device device) {
  if (device.kind() == DeviceKind::cpu) return Stream(device, nullptr);
  return Stream(device, CudaDevice::of(device.index())->standard_stream());
}

Stream Stream::borrow(Device device, void *native, SourceLocation where) {
  if (device.kind() == DeviceKind::cpu)
    throw UserError(where, "the CPU has no streams of others; use Stream::standard(Device::cpu())");
  auto cuda = CudaDevice::of(device.index());
  auto stream = driver::Stream::borrow(cuda->context(), static_cast<driver::CUstream>(native));
  return Stream(device, std::make_shared<CudaStream>(stream));
}

void Stream::synchronize() const {
  if (cuda_) cuda_->synchronize();
}

bool Stream::finished() const { return !cuda_ || cuda_->stream().finished(); }

void Stream::wait(const Event &event) const { event.make_wait(*this); }

void *Stream::native() const noexcept { return cuda_ ? cuda_->stream().raw() : nullptr; }

std::string Stream::to_string() const {
  return cuda_ ? cuda_->stream().to_string() : "stream on " + device_.to_string();
}

bool operator==(const Stream &a, const Stream &b) noexcept {
  return a.device_ == b.device_ && a.native() == b.native();
}

std::ostream &operator<<(std::ostream &stream, const Stream &value) { return stream << value.to_string(); }

}  // namespace samite
