// A device that holds buffers and runs kernels.
//
// A small value, cheap to copy and to compare; it owns nothing. Thread-safe.
#pragma once

#include <iosfwd>
#include <string>
#include <vector>

namespace samite {

enum class DeviceKind { cpu, cuda };

class Device {
 public:
  static Device cpu() noexcept { return Device(DeviceKind::cpu, 0); }
  // The CUDA device of that number. If it does not exist, its first use is a DeviceError.
  static Device cuda(int index) noexcept { return Device(DeviceKind::cuda, index); }
  // CUDA if there is a device, else the CPU.
  static Device preferred();
  // All devices of this machine, the preferred one first. The CPU is always among them.
  static std::vector<Device> list();

  DeviceKind kind() const noexcept { return kind_; }
  int index() const noexcept { return index_; }  // among the devices of its kind

  std::string name() const;       // "Intel(R) Xeon(R) Processor, 2 threads"; DeviceError if it does not exist
  std::string to_string() const;  // "cpu", "cuda:1"

  // Returns when all work on the device has completed.
  void synchronize() const;
  // Gives kernels on this device access to the memory of buffers on `peer`; no effect on the CPU. DeviceError if the
  // hardware does not support it.
  void enable_peer_access(const Device &peer) const;
  // Returns unused memory to the system.
  void release_unused_memory() const;

  friend bool operator==(const Device &, const Device &) = default;

 private:
  Device(DeviceKind kind, int index) noexcept : kind_(kind), index_(index) {}

  DeviceKind kind_;
  int index_;
};

std::ostream &operator<<(std::ostream &stream, const Device &device);

}  // namespace samite
