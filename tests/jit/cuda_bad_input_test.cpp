// Errors on CUDA, as a program sees them: on the fake driver, and on a GPU if they can be provoked there. Components
// missing on the machine are tested in tests/driver/ and tests/toolchain/.
#include "tests/jit/cuda_kernels.h"
#include "tests/runtime/message_of.h"

#include <gmock/gmock.h>

#include <cstdio>
#include <cstdlib>
#include <thread>

namespace samite::test {
namespace {

using driver::Result;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

struct CountArguments {
  ArrayArgument<std::int64_t> total;
};
struct RowsArguments {
  MatrixArgument<float> out;
};
struct FarArguments {
  ArrayArgument<float> out;
  std::int64_t distance;
};

class CudaBadInput : public CudaKernelTest {
 protected:
  void SetUp() override {
    CudaKernelTest::SetUp();
    if (IsSkipped()) return;
    understand<ScaleArguments>("scale", run_scale);
    understand<CountArguments>(
        "count", [](const CountArguments &a, const LaunchBox &box) { a.total.data[0] += box.end[0] * box.end[1]; });
    understand<RowsArguments>("rows", [](const RowsArguments &a, const LaunchBox &box) {
      for (std::int64_t y = 0; y < box.end[0]; ++y)
        for (std::int64_t x = 0; x < box.end[1]; ++x)
          a.out.data[y * a.out.stride[0] + x * a.out.stride[1]] = static_cast<float>(y % 1000);
    });
    understand<FarArguments>("far", [this](const FarArguments &, const LaunchBox &) { fake()->fault(fault); });
  }

  Kernel<void(Array<float, 1>, Array<const float, 1>, Float)> scale{
      "scale", {"out", "in", "factor"}, [](Array<float, 1> out, Array<const float, 1> in, Float factor) {
        Int i = thread_index();
        out(i) = factor * in(i);
      }};
  // Touches memory `distance` elements beyond, in a branch, so that no launch is certain to.
  Kernel<void(Array<float, 1>, Int64)> far{"far", {"out", "distance"}, [](Array<float, 1> out, Int64 distance) {
                                             if_(distance > 0, [&] { out(thread_index() + distance) = 1; });
                                           }};

  Result fault = Result::illegal_address;  // that the fake's `far` ends in
};
SAMITE_CUDA_SUITE(CudaBadInput);

TEST_P(CudaBadInput, MoreInstancesThan32BitsCountAllRun) {
  Kernel count{"count", [](Array<std::int64_t, 1> total) {
                 thread_index<2>();
                 atomic_add(total(0), Int64(1));
               }};
  Buffer<std::int64_t> total{device(), {1}};
  count.launch({65537, 65536}, total);

  EXPECT_EQ(total.at(0), std::int64_t{65537} * 65536);
}

TEST_P(CudaBadInput, MoreRowsThanAGridHasAllRun) {
  Kernel rows{"rows", [](Array<float, 2> out) {
                auto [y, x] = thread_index<2>();
                out(y, x) = cast<Float>(y % 1000);
              }};
  const std::int64_t n = std::int64_t{1} << 24;  // rows of 2 in blocks of 128, a grid has at most 65535 of them
  Buffer<float> out{device(), {n, 2}};
  rows.launch({n, 2}, out);

  EXPECT_EQ(out.at(n - 1, 1), static_cast<float>((n - 1) % 1000));
  EXPECT_EQ(out.at(65535 * 128 + 1, 0), static_cast<float>((65535 * 128 + 1) % 1000));
}

TEST_P(CudaBadInput, UnalignedBuffersAreReadAndWritten) {
  std::vector<float> values(1030);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
  Buffer<float> in{device(), {1030}, values}, out{device(), {1030}};
  scale.launch({1027}, out.slice(0, 2, 1029), in.slice(0, 1, 1028), 2.0f);

  const std::vector<float> result = out.to_vector();
  EXPECT_THAT(std::vector(result.begin(), result.begin() + 4), ElementsAre(0, 0, 2, 4));
  EXPECT_EQ(result[1028], 2 * 1027);
  EXPECT_EQ(result[1029], 0) << "beyond the launch";
}

TEST_P(CudaBadInput, BuffersOfAnotherDeviceAreRefused) {
  if (CudaDevice::count() < 2) GTEST_SKIP() << "there is one device";
  Buffer<float> here{device(), {2}}, there{Device::cuda(1), {2}};

  EXPECT_THAT(message_of<UserError>([&] { scale.launch({2}, there, here, 1.0f); }),
              AllOf(HasSubstr("argument 1 ('in') is on cuda:0, but argument 0 ('out') is on cuda:1"),
                    HasSubstr("copy one of them")));
  Launch launch = scale.record({2}, here, here, 1.0f);
  EXPECT_THROW(launch.set("in", there), UserError);
}

TEST_P(CudaBadInput, AStreamOfAnotherContextIsRefused) {
  if (CudaDevice::count() < 2) GTEST_SKIP() << "there is one device";
  Buffer<float> buffer{device(), {2}};
  const Stream there{Device::cuda(1)};

  EXPECT_THAT(message_of<UserError>([&] { scale.launch({2}, {.stream = there}, buffer, buffer, 1.0f); }),
              AllOf(HasSubstr("the stream is on cuda:1, the buffers are on cuda:0"), HasSubstr("buffers' device")));
  EXPECT_THAT(message_of<UserError>([&] { Stream::borrow(device(), there.native()); }),
              AllOf(HasSubstr("belongs to another context"), HasSubstr("cuda:0")));
}

TEST_P(CudaBadInput, ReadingABufferCannotBeCaptured) {
  Stream stream{device()};
  Buffer<float> a{device(), {2}, {1, 2}}, b{device(), {2}};
  Launch launch = scale.record({2}, {.stream = stream}, b, a, 2.0f);

  EXPECT_THAT(message_of<DeviceError>([&] {
                capture(stream, [&] {
                  launch.launch();
                  b.to_vector();
                });
              }),
              AllOf(HasSubstr("STREAM_CAPTURE"), HasSubstr("captured into a graph")));
  launch.launch();
  EXPECT_THAT(b.to_vector(), ElementsAre(2, 4)) << "streams and buffers are as before";
}

TEST_P(CudaBadInput, OneLaunchInTwoThreadsIsRefused) {
  if (!fake()) GTEST_SKIP() << "on a GPU a launch returns before a second thread could come";
  Buffer<float> a{device(), {2}, {1, 2}}, b{device(), {2}};
  Launch launch = scale.record({2}, b, a, 2.0f);
  std::string message, of_set;
  understand<ScaleArguments>("held", [&](const ScaleArguments &, const LaunchBox &) {
    std::thread([&] {
      message = message_of<UserError>([&] { launch.launch(); });
      of_set = message_of<UserError>([&] { launch.set("factor", 3.0f); });
    }).join();
  });
  Kernel held{"held", {"out", "in", "factor"}, [](Array<float, 1> out, Array<const float, 1> in, Float factor) {
                Int i = thread_index();
                out(i) = factor * in(i);
              }};
  launch = held.record({2}, b, a, 2.0f);
  launch.launch();

  EXPECT_THAT(message, AllOf(HasSubstr("Launch of 'held'"), HasSubstr("in use by another thread"), HasSubstr("copy")));
  EXPECT_EQ(without_call(message), without_call(of_set));
  EXPECT_NO_THROW(Launch(launch).set("factor", 3.0f)) << "a copy is another launch";
}

TEST_P(CudaBadInput, AFaultNamesTheLaunchThatMayHaveCausedIt) {
  if (!fake()) GTEST_SKIP() << "a GPU has a process of its own for this, below";
  Buffer<float> out{device(), {4}};
  far.launch({4}, out, std::int64_t{1} << 30);  // offsets within a small array have 32 bits

  const std::string message = message_of<DeviceError>([&] { Device::cuda(0).synchronize(); });
  EXPECT_THAT(message, AllOf(HasSubstr("asynchronous work on cuda:0 failed"), HasSubstr("kernel \"samite_far\""),
                             HasSubstr("cuda_bad_input_test.cpp"), HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS")));
  EXPECT_THAT(message_of<DeviceError>([&] { out.to_vector(); }), HasSubstr("CUDA_ERROR_ILLEGAL_ADDRESS"))
      << "of every later call";
}

TEST_P(CudaBadInput, AFaultOfAGpuNamesTheLaunchThatMayHaveCausedIt) {
  if (fake()) GTEST_SKIP() << "on a GPU";
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto write_far = [&] {
    Buffer<float> out{device(), {4}};
    far.launch({4}, out, std::int64_t{1} << 30);  // as above
    try {
      out.to_vector();
    } catch (const DeviceError &error) {
      std::fprintf(stderr, "%s", error.what());
      std::_Exit(3);
    }
    std::_Exit(0);
  };
  EXPECT_EXIT(write_far(), testing::ExitedWithCode(3),
              "asynchronous work on cuda:0 failed.*ILLEGAL_ADDRESS.*samite_far");
}

TEST_P(CudaBadInput, ADeviceThatIsLostIsSaid) {
  if (!fake()) GTEST_SKIP() << "the fake alone loses its device";
  fault = Result::ecc_uncorrectable;
  Buffer<float> out{device(), {4}};
  far.launch({4}, out, 0);

  EXPECT_THAT(message_of<DeviceError>([&] { out.to_vector(); }),
              AllOf(HasSubstr("cuda:0"), HasSubstr("CUDA_ERROR_ECC_UNCORRECTABLE")));
}

TEST_P(CudaBadInput, BuffersOfADeviceThatWasResetAreRefused) {
  if (!fake()) GTEST_SKIP() << "the fake alone resets its device";
  Buffer<float> a{device(), {2}, {1, 2}}, b{device(), {2}};
  Launch launch = scale.record({2}, b, a, 2.0f);
  fake()->reset_device(0);

  EXPECT_THAT(message_of<DeviceError>([&] { a.to_vector(); }),
              AllOf(HasSubstr("cuda:0 can no longer be used"), HasSubstr("cudaDeviceReset")));
  EXPECT_THAT(message_of<DeviceError>([&] { Buffer<float>(device(), {4}); }), HasSubstr("cuda:0"));
  EXPECT_THROW(launch.launch(), DeviceError);
  fake()->take_mistakes();
}

TEST_P(CudaBadInput, NoMemoryForLocalArraysIsSaidWithFigures) {
  Kernel sorted{"sorted", {"out", "n"}, [](Array<float, 1> out, Int n) {
                  LocalArray<float, 4096> values;
                  Int i = thread_index();
                  for (Int k : range(n)) values(k) = cast<Float>(k * i);
                  out(i) = values(n - 1);
                }};
  Buffer<float> out{device(), {4096}};
  EXPECT_THAT(message_of<DeviceError>(
                  [&] { sorted.launch({4096}, {.cuda = {.workspace_bytes = std::int64_t{1} << 40}}, out, 3); }),
              AllOf(HasSubstr("kernel \"sorted\""), HasSubstr("out of memory on cuda:0")));
}

}  // namespace
}  // namespace samite::test
