#include "samite/driver/device_info.h"

#include "tests/driver/fake/fake_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace samite::driver {
namespace {

using fake::FakeDriver;

TEST(DeviceInfo, IsWhatTheDriverSays) {
  FakeDriver fake({.device_bytes = std::size_t{3} << 29});
  const DeviceInfo info = device_info(*fake.driver(), 1);

  EXPECT_EQ(info.to_string(), "cuda:1 Fake GPU, compute capability 9.0, 4 multiprocessors, 1.5 GiB");
  EXPECT_EQ(info.bus, "0000:01:00.0");
  EXPECT_EQ(info.uuid, "GPU-00000000-0000-0000-0000-000000000001");
  EXPECT_TRUE(info.tensor_maps);
}

TEST(DeviceInfo, OfAllDevices) {
  FakeDriver fake({.devices = 3, .compute_capability = 80});
  const std::vector<DeviceInfo> devices = list_devices(*fake.driver());

  ASSERT_EQ(devices.size(), 3u);
  EXPECT_EQ(devices[2].number, 2);
  EXPECT_FALSE(devices[2].clusters);
}

TEST(DeviceInfo, OfADeviceThatIsNotThere) {
  FakeDriver fake;
  const auto driver = fake.driver();

  EXPECT_THROW(device_info(*driver, 7), DriverError);
}

}  // namespace
}  // namespace samite::driver
