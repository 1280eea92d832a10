// Tests of CUDA that run on the fake driver everywhere, and on a GPU if there is one.
//
// A suite derives from CudaTest and is instantiated with SAMITE_CUDA_SUITE: its tests are then Fake/… and Gpu/….
#pragma once

#include "samite/runtime/cuda_device.h"
#include "samite/runtime/device.h"
#include "tests/driver/fake/fake_driver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <optional>

namespace samite::test {

// The computation of the library's PTX, for the fake, which cannot compile it.
inline driver::fake::KernelCode strided_copy_code() {
  driver::fake::KernelCode code;
  code.name = "samite_copy_strided";
  code.parameter_bytes = {sizeof(CudaDevice::StridedCopy)};
  code.run = [](void **parameters) {
    CudaDevice::StridedCopy copy;
    std::memcpy(&copy, parameters[0], sizeof copy);
    const auto bytes = static_cast<std::int64_t>(copy.element_bytes);
    for (std::uint64_t i = 0; i < copy.count; ++i) {
      std::uint64_t rest = i;
      std::int64_t to = 0, from = 0;
      for (int d = 3; d >= 0; --d) {
        const auto extent = static_cast<std::uint64_t>(copy.extent[d]);
        const auto index = static_cast<std::int64_t>(rest % extent);
        rest /= extent;
        to += index * copy.to_stride[d];
        from += index * copy.from_stride[d];
      }
      std::memcpy(reinterpret_cast<void *>(copy.to + static_cast<std::uint64_t>(to * bytes)),
                  reinterpret_cast<const void *>(copy.from + static_cast<std::uint64_t>(from * bytes)),
                  copy.element_bytes);
    }
  };
  return code;
}

inline driver::fake::KernelCode set_condition_code(driver::fake::FakeDriver &fake) {
  driver::fake::KernelCode code;
  code.name = "samite_set_condition";
  code.parameter_bytes = {8, 8, 4};
  code.pointers = {1};
  code.run = [&fake](void **parameters) {
    driver::CUgraphConditionalHandle handle;
    driver::CUdeviceptr address;
    std::uint32_t bytes;
    std::memcpy(&handle, parameters[0], sizeof handle);
    std::memcpy(&address, parameters[1], sizeof address);
    std::memcpy(&bytes, parameters[2], sizeof bytes);
    const char *value = reinterpret_cast<const char *>(address);
    fake.set_condition(handle, std::any_of(value, value + bytes, [](char byte) { return byte != 0; }) ? 1 : 0);
  };
  return code;
}

enum class Where { fake, gpu };

class CudaTest : public testing::TestWithParam<Where> {
 protected:
  void SetUp() override {
    if (GetParam() == Where::gpu) {
      if (CudaDevice::count() == 0) GTEST_SKIP() << "there is no GPU";
      return;
    }
    start_fake({});
  }

  // Before anything is done: replaces the machine that the test was given by another one.
  void start_fake(driver::fake::Options options) {
    CudaDevice::forget_all();
    fake_.reset();
    options.device_bytes = std::size_t{1} << 28;
    if (options.version == driver::fake::Options().version) options.version = 99000;  // newer than any compiler
    fake_.emplace(options);
    fake_->understand(strided_copy_code());
    fake_->understand(set_condition_code(*fake_));
    fake_->understand({.name = "samite_nothing"});
    driver::Driver::provide(fake_->driver());
  }
  // The fake is destroyed after the test's own members.
  void TearDown() override {
    if (!fake_) return;
    CudaDevice::forget_all();
    driver::Driver::provide(nullptr);
  }

  static Device device() { return Device::cuda(0); }
  driver::fake::FakeDriver *fake() { return fake_ ? &*fake_ : nullptr; }

 private:
  std::optional<driver::fake::FakeDriver> fake_;
};

}  // namespace samite::test

#define SAMITE_CUDA_SUITE(suite)                                                      \
  INSTANTIATE_TEST_SUITE_P(Fake, suite, testing::Values(::samite::test::Where::fake), \
                           [](const auto &) { return std::string("fake"); });         \
  INSTANTIATE_TEST_SUITE_P(Gpu, suite, testing::Values(::samite::test::Where::gpu),   \
                           [](const auto &) { return std::string("gpu"); })
