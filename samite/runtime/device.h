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

  std::string name() const;       // "Intel(R) Xeon(R) Processor, 2 threads"; DeviceError where it is not there
  std::string to_string() const;  // "cpu", "cuda:1"

  // Returns when all work on the device has completed.
  void synchronize() const;
  // Lets kernels on this device reach the memory of buffers on `peer`; nothing on the CPU. DeviceError where the
  // hardware cannot.
  void enable_peer_access(const Device &peer) const;
  // Gives memory that nobody uses back to the system.
  void release_unused_memory() const;

  friend bool operator==(const Device &, const Device &) = default;

 private:
  Device(DeviceKind kind, int index) noexcept : kind_(kind), index_(index) {}

  DeviceKind kind_;
  int index_;
};

std::ostream &operator<<(std::ostream &stream, const Device &device);

}  // namespace samite
