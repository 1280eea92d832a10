#include "samite/runtime/device.h"

#include "samite/base/error.h"
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

Device Device::preferred() { return list().front(); }

std::vector<Device> Device::list() { return {Device::cpu()}; }

std::string Device::name() const {
  require_cpu("naming " + to_string());
  static const std::string model = read_processor_model();
  int threads = worker_count();
  return fmt::format("{}, {} thread{}", model, threads, threads == 1 ? "" : "s");
}

void Device::require_cpu(const std::string &call) const {
  if (kind_ != DeviceKind::cpu)
    throw DeviceError(call, "this version of Samite runs on the CPU alone; use Device::cpu() or Device::preferred()");
}

std::string Device::to_string() const {
  return kind_ == DeviceKind::cpu ? std::string("cpu") : fmt::format("cuda:{}", index_);
}

std::ostream &operator<<(std::ostream &stream, const Device &device) { return stream << device.to_string(); }

}  // namespace samite
