#include "samite/runtime/device.h"

#include "samite/driver/device_info.h"
#include "samite/runtime/cuda_device.h"
#include "samite/runtime/task_pool.h"

#include <fmt/format.h>

#include <fstream>
#include <ostream>

namespace samite {
namespace {

std::string read_processor_model() {
  std::ifstream processors("/proc/cpuinfo");
  for (std::string line; std::getline(processors, line);) {
    if (!line.starts_with("model name")) continue;
    std::size_t value = line.find_first_not_of(" \t", line.find(':') + 1);
    if (value != std::string::npos) return line.substr(value);
  }
  return "CPU";  // Arm kernels print no model
}

}  // namespace

Device Device::preferred() { return CudaDevice::count() > 0 ? Device::cuda(0) : Device::cpu(); }

std::vector<Device> Device::list() {
  std::vector<Device> devices;
  for (int i = 0; i < CudaDevice::count(); ++i) devices.push_back(Device::cuda(i));
  devices.push_back(Device::cpu());
  return devices;
}

std::string Device::name() const {
  if (kind_ == DeviceKind::cuda) return driver::device_info(CudaDevice::of(index_)->context().driver(), index_).name;
  static const std::string model = read_processor_model();
  int threads = worker_count();
  return fmt::format("{}, {} thread{}", model, threads, threads == 1 ? "" : "s");
}

void Device::synchronize() const {
  if (kind_ == DeviceKind::cpu) return;
  auto device = CudaDevice::of(index_);
  device->context().synchronize();
  device->standard_stream()->synchronize();  // for its instances' reports
}

void Device::enable_peer_access(const Device &peer) const {
  if (kind_ == DeviceKind::cpu || peer.kind_ == DeviceKind::cpu || *this == peer) return;
  auto here = CudaDevice::of(index_), there = CudaDevice::of(peer.index_);
  here->context().enable_peer_access(there->context());
  there->pool().allow_access_from(here->context());
}

void Device::release_unused_memory() const {
  if (kind_ == DeviceKind::cuda) CudaDevice::of(index_)->pool().trim();
}

std::string Device::to_string() const {
  return kind_ == DeviceKind::cpu ? std::string("cpu") : fmt::format("cuda:{}", index_);
}

std::ostream &operator<<(std::ostream &stream, const Device &device) { return stream << device.to_string(); }

}  // namespace samite
