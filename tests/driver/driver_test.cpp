#include "samite/driver/driver.h"

#include "tests/driver/fake/fake_driver.h"
#include "tests/runtime/message_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace samite::driver {
namespace {

using fake::FakeDriver;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(Driver, NoneOnThisMachineIsSaidWithTheLoadersWords) {
  const std::string message = message_of<DeviceError>([] { Driver::open("libcuda-that-is-not-there.so.1"); });

  EXPECT_THAT(message, AllOf(HasSubstr("no CUDA driver"), HasSubstr("libcuda-that-is-not-there.so.1"),
                             HasSubstr("cannot open shared object file"), HasSubstr("NVIDIA driver's package")));
}

TEST(Driver, LibraryThatIsNoDriverIsRefused) {
  const std::string message = message_of<DeviceError>([] { Driver::open("libm.so.6"); });

  EXPECT_THAT(message, AllOf(HasSubstr("libm.so.6 is no CUDA driver"), HasSubstr("cuDriverGetVersion")));
}

TEST(Driver, TooOldNamesBothVersions) {
  FakeDriver fake({.version = 11040});

  const std::string message = message_of<DeviceError>([&] { fake.driver(); });

  EXPECT_THAT(message, AllOf(HasSubstr("too old"), HasSubstr("11.4"), HasSubstr("12.0"), HasSubstr("Update")));
}

TEST(Driver, EmptyTableDoesNotTellItsVersion) {
  EXPECT_THAT(message_of<DeviceError>([] { Driver::from({}); }), HasSubstr("does not tell its version"));
}

TEST(Driver, MissingFunctionIsNamedWithVersions) {
  FakeDriver fake({.version = 12040});
  EntryPoints table = fake.table();
  table.MemAllocFromPoolAsync = nullptr;

  const std::string message = message_of<DeviceError>([&] { Driver::from(table); });

  EXPECT_THAT(message, AllOf(HasSubstr("cuMemAllocFromPoolAsync (since 11.2)"), HasSubstr("version 12.4"),
                             Not(HasSubstr("cuMemFreeAsync"))));
}

TEST(Driver, OptionalFunctionIsMissedWhereItIsUsed) {
  FakeDriver fake({.version = 12020});
  const auto driver = fake.driver();

  EXPECT_FALSE(driver->has<Entry::GraphAddNode>());
  EXPECT_TRUE(driver->has<Entry::GraphAddKernelNode>());
  const std::string message = message_of<DeviceError>(
      [&] { driver->call<Entry::GraphConditionalHandleCreate>(nullptr, nullptr, nullptr, 0u, 0u); });
  EXPECT_THAT(message, AllOf(HasSubstr("cuGraphConditionalHandleCreate"), HasSubstr("12.3"), HasSubstr("12.2")));
}

TEST(Driver, NoDeviceIsSaidWithItsCode) {
  FakeDriver fake({.devices = 0});
  try {
    fake.driver();
    FAIL();
  } catch (const DriverError &error) {
    EXPECT_EQ(error.code(), Result::no_device);
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("cuInit"), HasSubstr("CUDA_ERROR_NO_DEVICE (100)"), HasSubstr("CUDA_VISIBLE_DEVICES")));
  }
}

TEST(Driver, KernelModuleOfAnotherVersionIsExplained) {
  FakeDriver fake;
  fake.fail(Entry::Init, Result::system_driver_mismatch);

  EXPECT_THAT(message_of<DriverError>([&] { fake.driver(); }),
              AllOf(HasSubstr("CUDA_ERROR_SYSTEM_DRIVER_MISMATCH"), HasSubstr("restart the machine")));
}

TEST(Driver, ErrorHasTheCallItsArgumentsAndTheDriversWords) {
  FakeDriver fake;
  const auto driver = fake.driver();
  int value = 0;

  const std::string message =
      message_of<DriverError>([&] { driver->call<Entry::DeviceGetAttribute>(&value, DeviceAttribute::warp_size, 7); });

  EXPECT_THAT(message, HasSubstr("cuDeviceGetAttribute(attribute=10, device=7) failed: "
                                 "CUDA_ERROR_INVALID_DEVICE (101): the fake's words for invalid_device"));
}

TEST(Driver, CodeThatNobodyKnowsIsKept) {
  FakeDriver fake;
  const auto driver = fake.driver();
  fake.fail(Entry::DeviceGetCount, static_cast<Result>(4711));
  int count = 0;

  EXPECT_THAT(message_of<DriverError>([&] { driver->call<Entry::DeviceGetCount>(&count); }),
              HasSubstr("unknown error (4711)"));
}

TEST(Driver, ProvidedOneIsTheSystems) {
  FakeDriver fake;
  const auto driver = fake.driver();

  Driver::provide(driver);
  std::vector<const Driver *> seen(4);
  std::vector<std::thread> threads;
  for (const Driver *&place : seen) threads.emplace_back([&place] { place = Driver::system().get(); });
  for (std::thread &thread : threads) thread.join();
  Driver::provide(nullptr);

  EXPECT_THAT(seen, testing::Each(driver.get()));
}

}  // namespace
}  // namespace samite::driver
