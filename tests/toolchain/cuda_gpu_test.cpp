// Images on a real GPU; skipped without one. The driver's facts about a kernel are compared with those read from the
// image.
#include "samite/driver/copy.h"
#include "samite/driver/device_info.h"
#include "samite/driver/device_memory.h"
#include "samite/driver/launch.h"
#include "tests/toolchain/cuda_sample.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdio>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

namespace samite {
namespace {

using driver::FunctionAttribute;

class CudaImageOnGpu : public test::CudaCompilerTest {
 protected:
  void SetUp() override {
    test::CudaCompilerTest::SetUp();
    if (IsSkipped()) return;
    try {
      driver_ = driver::Driver::system();
    } catch (const DeviceError &error) {
      GTEST_SKIP() << error.what();
    }
    require_driver_for_nvrtc(driver_->version());
    const int capability = device_info(*driver_, 0).compute_capability;
    architecture_ = "sm_" + std::to_string(capability) + (capability == 90 ? "a" : "");
    context_ = driver::Context::primary(driver_, 0);
  }

  driver::Library load(const CudaImage &image) const {
    return driver::Library::load(*context_, std::as_bytes(std::span(image.cubin())));
  }

  // The kernel's result for `values`, with their number as its second argument.
  std::vector<float> run(const driver::Kernel &kernel, std::vector<float> values) const {
    const driver::Stream stream = driver::Stream::create(*context_);
    const driver::MemoryPool pool = driver::MemoryPool::create(*context_);
    const std::size_t bytes = values.size() * sizeof(float);
    const driver::DeviceMemory memory = driver::DeviceMemory::allocate(stream, pool, bytes);
    copy_to_device(stream, memory.address(), values.data(), bytes);
    driver::CUdeviceptr address = memory.address();
    long long count = static_cast<long long>(values.size());
    void *parameters[] = {&address, &count};
    const unsigned threads = 128, blocks = static_cast<unsigned>(values.size() / threads) + 1;
    launch(stream, kernel, {.grid = {blocks, 1, 1}, .block = {threads, 1, 1}}, parameters);
    copy_to_host(stream, values.data(), memory.address(), bytes);
    stream.synchronize();
    return values;
  }

  std::shared_ptr<const driver::Driver> driver_;
  std::optional<driver::Context> context_;
  std::string architecture_;
};

std::vector<float> numbers() {
  std::vector<float> values(1000);
  std::iota(values.begin(), values.end(), 0.f);
  return values;
}

TEST_F(CudaImageOnGpu, Runs) {
  const CompiledCuda compiled = compile_cuda(test::cuda_adding("2.5"), test::cuda_prelude, architecture_);
  std::vector<float> expected = numbers();
  for (float &value : expected) value += 2.5f;
  EXPECT_EQ(run(load(*compiled.image).kernel("add"), numbers()), expected);
  std::printf("%s: compiled in %.1f ms, %.1f of them to open NVRTC\n", architecture_.c_str(), compiled.report.total_ms,
              compiled.report.open_ms);
}

TEST_F(CudaImageOnGpu, NeedsWhatTheDriverSays) {
  const CompiledCuda compiled = compile_cuda(test::cuda_demanding(), "", architecture_);
  const driver::Library library = load(*compiled.image);
  for (const CudaKernelResources &resources : compiled.image->report().kernels) {
    const driver::Kernel kernel = library.kernel(resources.name);
    EXPECT_EQ(resources.registers, kernel.attribute(FunctionAttribute::registers)) << resources.name;
    EXPECT_EQ(resources.shared_bytes, kernel.attribute(FunctionAttribute::shared_bytes)) << resources.name;
    EXPECT_EQ(resources.local_bytes, kernel.attribute(FunctionAttribute::local_bytes)) << resources.name;
  }
}

}  // namespace
}  // namespace samite
