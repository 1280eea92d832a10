// Devices, buffers, streams and events of CUDA.
#include "samite/base/error.h"
#include "samite/runtime/buffer.h"
#include "samite/runtime/cuda_memory.h"
#include "samite/runtime/event.h"
#include "samite/runtime/stream.h"
#include "tests/runtime/cuda_setting.h"
#include "tests/runtime/message_of.h"

#include <numeric>
#include <sstream>

namespace samite {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

class Cuda : public test::CudaTest {};
SAMITE_CUDA_SUITE(Cuda);

std::vector<float> counting_floats(std::size_t count) {
  std::vector<float> values(count);
  std::iota(values.begin(), values.end(), 1.0f);
  return values;
}

TEST_P(Cuda, IsPreferredAndListedBeforeTheCpu) {
  EXPECT_EQ(Device::preferred(), Device::cuda(0));
  EXPECT_EQ(Device::list().front(), Device::cuda(0));
  EXPECT_EQ(Device::list().back(), Device::cpu());
  EXPECT_FALSE(Device::cuda(0).name().empty());
}

TEST_P(Cuda, BuffersStartAsZeros) {
  Buffer<float> buffer{device(), {1000}, Gradient::tracked};

  EXPECT_EQ(buffer.to_vector(), std::vector<float>(1000));
  EXPECT_EQ(buffer.gradient().to_vector(), std::vector<float>(1000));
}

TEST_P(Cuda, ValuesGoThereAndBack) {
  const std::vector<float> values = counting_floats(3 * 70000);
  Buffer<float> buffer{device(), {3, 70000}, values};

  EXPECT_EQ(buffer.to_vector(), values);
  EXPECT_EQ(buffer.to(Device::cpu()).to_vector(), values);
  EXPECT_EQ(buffer.at(2, 5), 140006.0f);
}

TEST_P(Cuda, ElementsAreSetOneByOne) {
  Buffer<double> buffer{device(), {2, 2}, {1, 2, 3, 4}};
  buffer.set({1, 0}, 7);

  EXPECT_THAT(buffer.to_vector(), ElementsAre(1, 2, 7, 4));
}

TEST_P(Cuda, ViewsAreReadAndWrittenThroughStrides) {
  Buffer<float> buffer{device(), {2, 3}, {1, 2, 3, 4, 5, 6}};

  EXPECT_THAT(buffer.transpose().to_vector(), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(buffer.slice(1, 2, -1, -2).to_vector(), ElementsAre(3, 1, 6, 4));
  buffer.slice(1, 0, 3, 2).copy_from({10, 30, 40, 60});
  EXPECT_THAT(buffer.to_vector(), ElementsAre(10, 2, 30, 40, 5, 60));
}

TEST_P(Cuda, CopiesWithinTheDeviceMayOverlap) {
  Buffer<std::int16_t> buffer{device(), {5}, {1, 2, 3, 4, 5}};
  buffer.slice(0, 1, 5).copy_from(buffer.slice(0, 0, 4));

  EXPECT_THAT(buffer.to_vector(), ElementsAre(1, 1, 2, 3, 4));
}

TEST_P(Cuda, CopiesOfEverySizeOfElement) {
  Buffer<std::int8_t> bytes{device(), {2, 2}, {1, 2, 3, 4}};
  Buffer<std::int64_t> words{device(), {2, 2}, {1, 2, 3, -4}};

  EXPECT_THAT(bytes.transpose().clone().to_vector(), ElementsAre(1, 3, 2, 4));
  EXPECT_THAT(words.transpose().clone().to_vector(), ElementsAre(1, 3, 2, -4));
}

TEST_P(Cuda, FillsWithAnyPattern) {
  Buffer<double> doubles{device(), {3}};
  Buffer<std::int8_t> bytes{device(), {7}};
  Buffer<float> column{device(), {2, 2}};

  doubles.fill(0.1);
  bytes.fill(-3);
  column.slice(1, 0, 1).fill(4);

  EXPECT_THAT(doubles.to_vector(), ElementsAre(0.1, 0.1, 0.1));
  EXPECT_EQ(bytes.to_vector(), std::vector<std::int8_t>(7, -3));
  EXPECT_THAT(column.to_vector(), ElementsAre(4, 0, 4, 0));
}

TEST_P(Cuda, BuffersArePrintedFromTheHost) {
  std::ostringstream stream;
  stream << Buffer<int>(device(), {2, 2}, {1, 2, 3, 4});

  EXPECT_EQ(stream.str(), "Buffer<i32>(2, 2) on cuda:0\n[[1, 2],\n [3, 4]]");
}

TEST_P(Cuda, GradientsAreClearedInPlace) {
  Buffer<float> buffer{device(), {4}, Gradient::tracked};
  buffer.gradient().copy_from({1, 2, 3, 4});
  buffer.slice(0, 1, 3).zero_gradient();

  EXPECT_THAT(buffer.gradient().to_vector(), ElementsAre(1, 0, 0, 4));
}

TEST_P(Cuda, EventsMeasureTimeAndOrderStreams) {
  Stream first{device()}, second{device(), -1};
  Event begin, end;

  begin.record(first);
  end.record(first);
  second.wait(end);
  second.synchronize();

  EXPECT_TRUE(end.reached());
  EXPECT_GE(end.milliseconds_since(begin), 0.0);
  EXPECT_TRUE(second.finished());
  EXPECT_FALSE(first == second);
  EXPECT_EQ(Stream::borrow(device(), first.native()), first);
}

// On the fake, which fails the test if work is not in order.
TEST_P(Cuda, MemoryThatAnotherStreamUsesIsFreedAfterItsWork) {
  Stream stream{device()};
  {
    Buffer<float> buffer{device(), {100}};
    buffer.storage()->cuda()->used_by(stream.cuda_handle());
    buffer.fill(3);
  }
  stream.synchronize();
}

TEST_P(Cuda, ADeviceThatIsNotThereIsNamed) {
  EXPECT_THAT(message_of<DeviceError>([] { Buffer<float>(Device::cuda(17), {3}); }),
              AllOf(HasSubstr("cuda:17"), HasSubstr("no such device")));
}

TEST_P(Cuda, MoreMemoryThanThereIsIsAnErrorWithFigures) {
  EXPECT_THAT(message_of<DeviceError>([] { Buffer<float>(device(), {std::int64_t{1} << 44}); }),
              HasSubstr("out of memory on cuda:0"));
  EXPECT_EQ(Buffer<float>(device(), {3}).to_vector(), std::vector<float>(3)) << "the device is as it was";
}

TEST(CudaDevice, WithoutADriverTheCpuIsPreferred) {
  if (CudaDevice::count() > 0) GTEST_SKIP() << "there is a GPU";

  EXPECT_EQ(Device::preferred(), Device::cpu());
  EXPECT_THAT(message_of<DeviceError>([] { Buffer<float>(Device::cuda(0), {3}); }), HasSubstr("libcuda"));
  EXPECT_THAT(message_of<DeviceError>([] { Stream::standard(Device::cuda(0)); }), HasSubstr("libcuda"));
}

// Two devices, which only the fake has for certain.
TEST(CudaPeers, BuffersAreCopiedBetweenDevices) {
  driver::fake::FakeDriver fake;
  fake.understand(test::strided_copy_code());
  driver::Driver::provide(fake.driver());
  {
    Buffer<float> here{Device::cuda(0), {2, 3}, {1, 2, 3, 4, 5, 6}};
    Buffer<float> there = here.transpose().to(Device::cuda(1));
    Device::cuda(1).enable_peer_access(Device::cuda(0));

    EXPECT_EQ(there.device(), Device::cuda(1));
    EXPECT_THAT(there.to_vector(), ElementsAre(1, 4, 2, 5, 3, 6));
  }
  CudaDevice::forget_all();
  driver::Driver::provide(nullptr);
}

}  // namespace
}  // namespace samite
