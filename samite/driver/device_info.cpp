#include "samite/driver/device_info.h"

#include <fmt/format.h>

#include <array>

namespace samite::driver {
namespace {

std::string text_of(const Uuid &uuid) {
  std::string text = "GPU";
  for (int i = 0; i < 16; ++i) {
    const bool starts_group = i == 0 || i == 4 || i == 6 || i == 8 || i == 10;
    text += fmt::format("{}{:02x}", starts_group ? "-" : "", static_cast<unsigned char>(uuid.bytes[i]));
  }
  return text;
}

}  // namespace

std::string DeviceInfo::to_string() const {
  return fmt::format("cuda:{} {}, compute capability {}.{}, {} multiprocessors, {:.1f} GiB", number, name,
                     compute_capability / 10, compute_capability % 10, multiprocessors,
                     static_cast<double>(memory_bytes) / (1u << 30));
}

int device_count(const Driver &driver) {
  int count = 0;
  driver.call<Entry::DeviceGetCount>(&count);
  return count;
}

DeviceInfo device_info(const Driver &driver, int number) {
  CUdevice device = 0;
  driver.call<Entry::DeviceGet>(&device, number);
  const auto read = [&](DeviceAttribute attribute) {
    int value = 0;
    driver.call<Entry::DeviceGetAttribute>(&value, attribute, device);
    return value;
  };

  DeviceInfo info;
  info.number = number;
  std::array<char, 256> text{};
  driver.call<Entry::DeviceGetName>(text.data(), int{text.size()} - 1, device);
  info.name = text.data();
  text = {};
  driver.call<Entry::DeviceGetPCIBusId>(text.data(), int{text.size()} - 1, device);
  info.bus = text.data();
  std::size_t bytes = 0;
  driver.call<Entry::DeviceTotalMem>(&bytes, device);
  info.memory_bytes = bytes;
  Uuid uuid{};
  driver.call<Entry::DeviceGetUuid>(&uuid, device);
  info.uuid = text_of(uuid);

  using enum DeviceAttribute;
  info.compute_capability = 10 * read(compute_capability_major) + read(compute_capability_minor);
  info.multiprocessors = read(multiprocessor_count);
  // Two transfers per clock cycle. The clock is in kHz, the bus width in bits.
  info.memory_bandwidth = 2e3 * read(memory_clock_rate) * read(memory_bus_width) / 8;
  info.memory_pools = read(memory_pools_supported) != 0;
  info.tensor_maps = read(tensor_map_access_supported) != 0;
  info.clusters = read(cluster_launch) != 0;
  return info;
}

std::vector<DeviceInfo> list_devices(const Driver &driver) {
  std::vector<DeviceInfo> devices;
  for (int number = 0; number < device_count(driver); ++number) devices.push_back(device_info(driver, number));
  return devices;
}

}  // namespace samite::driver
