// The properties of a device.
//
// Values; every function may be called from any thread, and needs no context.
#pragma once

#include "samite/driver/driver.h"

#include <cstdint>
#include <string>
#include <vector>

namespace samite::driver {

struct DeviceInfo {
  int number = 0;              // among the devices that this process sees
  std::string name;            // "NVIDIA H200"
  int compute_capability = 0;  // 90 for 9.0
  std::uint64_t memory_bytes = 0;
  int multiprocessors = 0;
  double memory_bandwidth = 0;  // of the data sheet, in bytes a second; 0 if the driver does not say
  std::string bus;              // "0000:1b:00.0"
  std::string uuid;             // "GPU-8932f937-d72c-4106-c12f-20bd9faed9f6", as nvidia-smi prints it
  bool memory_pools = false;    // DeviceMemory needs them
  bool tensor_maps = false;
  bool clusters = false;

  std::string to_string() const;  // "cuda:0 NVIDIA H200, compute capability 9.0, 132 multiprocessors, 140.1 GiB"
};

int device_count(const Driver &driver);

// DriverError with the code invalid_device if there is no such device.
DeviceInfo device_info(const Driver &driver, int number);

std::vector<DeviceInfo> list_devices(const Driver &driver);

}  // namespace samite::driver
