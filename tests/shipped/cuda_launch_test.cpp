// Archived kernels on CUDA without the kernel, through the C interface: on the fake driver, and on a GPU if there is
// one. The archive is made by NVRTC, which needs neither.
#include "samite/base/atomic_file.h"
#include "samite/runtime/buffer.h"
#include "samite/shipped/samite_runtime.h"
#include "tests/base/temporary_folder.h"
#include "tests/jit/cuda_kernels.h"
#include "tests/toolchain/child_process.h"

#include <gmock/gmock.h>

#include <array>
#include <deque>
#include <filesystem>

namespace samite::test {
namespace {

using testing::HasSubstr;

struct SquaresArguments {
  ArrayArgument<double> sums, x;
};
struct SquaresAdjointArguments {
  ArrayArgument<double> sums, x, sums_gradient, x_gradient;
};
struct ProductArguments {
  MatrixArgument<const half> a, b;
  MatrixArgument<float> c;
};

DLTensor tensor_of(const Buffer<double> &buffer, void *data, std::int64_t *shape, std::int64_t *strides) {
  shape[0] = buffer.extents()[0], strides[0] = buffer.strides()[0];
  return {data, {2, 0}, 1, {2, 64, 1}, shape, strides, 0};
}

class CudaShipped : public CudaKernelTest {
 protected:
  void SetUp() override {
    CudaKernelTest::SetUp();
    if (IsSkipped()) return;
    understand<SquaresArguments>("squares", [](const SquaresArguments &a, const LaunchBox &box) {
      for (std::int64_t i = 0; i < box.end[0]; ++i)
        a.sums.data[i % 4] += a.x.data[i * a.x.stride] * a.x.data[i * a.x.stride];
    });
    understand<SquaresAdjointArguments>("squares_adjoint", [](const SquaresAdjointArguments &a, const LaunchBox &box) {
      for (std::int64_t i = 0; i < box.end[0]; ++i)
        a.x_gradient.data[i * a.x_gradient.stride] += 2 * a.x.data[i * a.x.stride] * a.sums_gradient.data[i % 4];
    });
    const std::string capability = std::to_string(CudaDevice::of(0)->context().limits().compute_capability);
    record("compute_" + capability);
  }

  // Replaces earlier recordings.
  void record(const std::string &targets, const char *what = "name", const char *assumptions = "") {
    const std::string path = (folder_.path() / "kernels.samite").string();
    std::filesystem::remove(path);
    ChildProcess child("sum_squares", {what},
                       {{"SAMITE_AOT_RECORD", path},
                        {"SAMITE_AOT_TARGETS", targets},
                        {"SAMITE_AOT_ASSUME", assumptions},
                        {"SAMITE_CACHE_DIR", (folder_.path() / "cache").string()}});
    ASSERT_EQ(child.wait(), 0) << child.output();
    // Under one name, so that it replaces those of other tests; it stays open.
    static std::deque<std::string> opened;
    const std::string &bytes = opened.emplace_back(read_file(path));
    ASSERT_EQ(samite_open_archive_bytes(SAMITE_RUNTIME_VERSION, "CUDA kernels", bytes.data(), bytes.size(), text_,
                                        sizeof text_),
              SAMITE_OK)
        << text_;
  }

  TemporaryFolder folder_;
  char text_[2000] = {};
};
SAMITE_CUDA_SUITE(CudaShipped);

TEST_P(CudaShipped, LaunchesForwardAndAdjoint) {
  constexpr std::int64_t n = 1000;
  Buffer<double> x{device(), {2 * n}, Gradient::tracked}, sums{device(), {4}, Gradient::tracked};
  x.fill(3);
  sums.gradient().fill(1);
  const Buffer<double> every_other = x.slice(0, 0, 2 * n, 2);
  std::int64_t shapes[4], strides[4];
  const DLTensor values = tensor_of(every_other, every_other.data(), shapes, strides);
  const DLTensor gradient = tensor_of(every_other, every_other.gradient_data(), shapes + 1, strides + 1);
  const DLTensor total = tensor_of(sums, sums.data(), shapes + 2, strides + 2);
  const DLTensor total_gradient = tensor_of(sums, sums.gradient_data(), shapes + 3, strides + 3);
  const Stream stream = Stream::standard(device());

  SamiteArgument arguments[] = {{&total, nullptr, 0}, {&values, nullptr, 0}};
  const auto launch = [&](int direction) {
    return samite_launch("squares", direction, &n, 1, arguments, 2, stream.native(), text_, sizeof text_);
  };
  ASSERT_EQ(launch(SAMITE_FORWARD), SAMITE_OK) << text_;
  arguments[0].gradient = &total_gradient;
  arguments[1].gradient = &gradient;
  ASSERT_EQ(launch(SAMITE_ADJOINT), SAMITE_OK) << text_;
  stream.synchronize();

  EXPECT_EQ(sums.to_vector(), std::vector<double>(4, n / 4 * 9));
  EXPECT_EQ(every_other.gradient().at(n - 1), 6);
}

// A product from bulk copies, which read the arrays through tensor maps. On the fake driver a map's first word is its
// array's address.
TEST_P(CudaShipped, HandsOverTensorMaps) {
  constexpr std::int64_t n = 128;
  if (CudaDevice::of(0)->context().limits().compute_capability != 90) GTEST_SKIP() << "no warp groups";
  record("sm_90a", "product", "aligned apart");
  int with_maps = 0;
  const auto multiply = [](const ProductArguments &arguments, const half *a, const half *b) {
    for (std::int64_t i = 0; i < n; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        float sum = 0;
        for (std::int64_t k = 0; k < n; ++k)
          sum += static_cast<float>(a[i * arguments.a.stride[0] + k]) * static_cast<float>(b[k * n + j]);
        arguments.c.data[i * n + j] = sum;
      }
  };
  // Both variants have this name, and the second one's parameters have the maps.
  driver::fake::KernelCode code;
  code.name = "samite_product";
  code.parameter_bytes = {sizeof(ProductArguments), sizeof(LaunchBox), 8, 16, 2 * sizeof(driver::TensorMapBits)};
  code.run = [&](void **parameters) {
    ProductArguments arguments;
    std::array<driver::TensorMapBits, 2> maps;
    std::memcpy(&arguments, parameters[0], sizeof arguments);
    std::memcpy(maps.data(), parameters[4], sizeof maps);
    const auto at = [](const driver::TensorMapBits &map) { return reinterpret_cast<const half *>(map.words[0]); };
    multiply(arguments, at(maps[0]), at(maps[1]));
    ++with_maps;
  };
  if (fake()) fake()->understand(code);

  std::vector<half> shifted(n * n, half(0.0f)), twice(n * n, half(0.0f));
  for (std::int64_t i = 0; i < n; ++i) twice[static_cast<std::size_t>(i * n + i)] = half(2.0f);
  for (std::int64_t i = 1; i < n; ++i) shifted[static_cast<std::size_t>(i * n + i - 1)] = half(3.0f);
  const Buffer<half> a{device(), {n, n}, shifted}, b{device(), {n, n}, twice};
  Buffer<float> c{device(), {n, n}};
  std::int64_t shape[2] = {n, n}, strides[2] = {n, 1};
  const DLTensor first = {const_cast<half *>(a.data()), {2, 0}, 2, {2, 16, 1}, shape, strides, 0};
  const DLTensor second = {const_cast<half *>(b.data()), {2, 0}, 2, {2, 16, 1}, shape, strides, 0};
  const DLTensor result = {c.data(), {2, 0}, 2, {2, 32, 1}, shape, strides, 0};
  const SamiteArgument arguments[] = {{&first, nullptr, 0}, {&second, nullptr, 0}, {&result, nullptr, 0}};
  const std::int64_t extents[] = {2, 2};
  const Stream stream = Stream::standard(device());
  ASSERT_EQ(samite_launch("product", SAMITE_FORWARD, extents, 2, arguments, 3, stream.native(), text_, sizeof text_),
            SAMITE_OK)
      << text_;
  stream.synchronize();
  EXPECT_EQ(c.at(100, 99), 6.0f);
  EXPECT_EQ(c.at(99, 99), 0.0f);
  if (fake()) EXPECT_EQ(with_maps, 1);
}

// Arrays of both kinds of memory in one launch, and a device that the archive has nothing for.
TEST_P(CudaShipped, RefusesArraysOfTwoDevices) {
  Buffer<double> x{device(), {4}}, sums{Device::cpu(), {4}};
  std::int64_t shapes[2], strides[2];
  const DLTensor values = tensor_of(x, x.data(), shapes, strides);
  DLTensor total = tensor_of(sums, sums.data(), shapes + 1, strides + 1);
  total.device.device_type = 1;
  const SamiteArgument arguments[] = {{&total, nullptr, 0}, {&values, nullptr, 0}};
  const std::int64_t n = 4;
  EXPECT_EQ(samite_launch("squares", SAMITE_FORWARD, &n, 1, arguments, 2, nullptr, text_, sizeof text_),
            SAMITE_USER_ERROR);
  EXPECT_THAT(std::string(text_), HasSubstr("argument 1 ('x') is on cuda:0, and another array on cpu"));

  total.device.device_type = 13;
  record("sm_80 sm_100a");
  EXPECT_EQ(samite_launch("squares", SAMITE_FORWARD, &n, 1, arguments, 2, nullptr, text_, sizeof text_),
            SAMITE_USER_ERROR);
  EXPECT_THAT(std::string(text_), HasSubstr("no variant in the open kernel archives serves this launch"));
}

}  // namespace
}  // namespace samite::test
