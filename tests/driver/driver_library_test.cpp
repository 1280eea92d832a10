// How the driver's functions are found in a library, with a fake of it. Each test opens it in a process of its own,
// since a driver's library is never closed and this process may hold another fake.
#include "samite/driver/context.h"
#include "samite/driver/device_info.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>

namespace samite::driver {
namespace {

// A child process's view of the driver in the library: its devices, or the error.
int describe(const char *library) {
  try {
    const auto driver = Driver::open(library);
    std::fprintf(stderr, "driver %s: ", version_text(driver->version()).c_str());
    for (const DeviceInfo &device : list_devices(*driver)) std::fprintf(stderr, "[%s]", device.to_string().c_str());
    Context::primary(driver, 0).synchronize();
    return 0;
  } catch (const DeviceError &error) {
    std::fprintf(stderr, "%s", error.what());
    return 1;
  }
}

struct DriverLibrary : testing::Test {
  DriverLibrary() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(DriverLibrary, IsOpenedAndItsFunctionsAreFound) {
  EXPECT_EXIT(std::_Exit(describe(SAMITE_FAKE_CUDA)), testing::ExitedWithCode(0),
              "driver 12.4: \\[cuda:0 Fake GPU, compute capability 9.0");
}

TEST_F(DriverLibrary, WithoutARequiredFunctionIsRefused) {
  EXPECT_EXIT(
      {
        setenv("SAMITE_FAKE_CUDA_WITHOUT", "cuMemAllocFromPoolAsync", 1);
        std::_Exit(describe(SAMITE_FAKE_CUDA));
      },
      testing::ExitedWithCode(1), "version 12.4, lacks functions.*cuMemAllocFromPoolAsync .since 11.2");
}

TEST_F(DriverLibrary, WithoutAnOptionalFunctionIsTaken) {
  EXPECT_EXIT(
      {
        setenv("SAMITE_FAKE_CUDA_WITHOUT", "cuGraphAddNode", 1);
        std::_Exit(describe(SAMITE_FAKE_CUDA));
      },
      testing::ExitedWithCode(0), "driver 12.4");
}

TEST_F(DriverLibrary, OfAnOldVersionIsRefused) {
  EXPECT_EXIT(
      {
        setenv("SAMITE_FAKE_CUDA_VERSION", "11080", 1);
        std::_Exit(describe(SAMITE_FAKE_CUDA));
      },
      testing::ExitedWithCode(1), "too old: it supports CUDA 11.8, and Samite needs CUDA 12.0");
}

TEST_F(DriverLibrary, FromBeforeItsFunctionsCouldBeAskedForIsRefused) {
  EXPECT_EXIT(std::_Exit(describe(SAMITE_FAKE_OLD_CUDA)), testing::ExitedWithCode(1), "too old: it supports CUDA 11.2");
}

TEST_F(DriverLibrary, ThatSeesNoDeviceSaysSo) {
  EXPECT_EXIT(
      {
        setenv("SAMITE_FAKE_CUDA_DEVICES", "0", 1);
        std::_Exit(describe(SAMITE_FAKE_CUDA));
      },
      testing::ExitedWithCode(1), "CUDA_ERROR_NO_DEVICE");
}

}  // namespace
}  // namespace samite::driver
