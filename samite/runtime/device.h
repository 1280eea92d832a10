// A device that holds buffers and runs kernels.
//
// A small value, cheap to copy and to compare; it owns nothing. Every function may be called from any thread.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace samite {

enum class DeviceKind { cpu, cuda };

class Device {
 public:
  static Device cpu() noexcept { return Device(DeviceKind::cpu, 0); }
  // The CUDA device of that number. The value names it; whether it is there shows where it is used: DeviceError.
  static Device cuda(int index) noexcept { return Device(DeviceKind::cuda, index); }
  // CUDA where there is one, else the CPU.
  static Device preferred();
  // All devices of this machine, the preferred one first. The CPU is always among them.
  static std::vector<Device> list();

  DeviceKind kind() const noexcept { return kind_; }
  int index() const noexcept { return index_; }  // among the devices of its kind

  std::string name() const;       // "Intel(R) Xeon(R) Processor, 2 threads"
  std::string to_string() const;  // "cpu", "cuda:1"

  // For what runs on the CPU alone: DeviceError that says so where this is another device. `call` is what was asked.
  void require_cpu(const std::string &call) const;

  friend bool operator==(const Device &, const Device &) = default;

 private:
  Device(DeviceKind kind, int index) noexcept : kind_(kind), index_(index) {}

  DeviceKind kind_;
  int index_;
};

std::ostream &operator<<(std::ostream &stream, const Device &device);

}  // namespace samite
