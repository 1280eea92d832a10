// Work that is already running when a later call fails: its memory is not used before it has ended.
#include "tests/faults/setting.h"

#include <gmock/gmock.h>

#include <optional>

namespace samite::test {
namespace {

using driver::Entry;
using driver::Result;
using testing::ElementsAre;

const Device gpu = Device::cuda(0);

struct WorkThatRuns : testing::Test {
  WorkThatRuns() { start(fake); }
  ~WorkThatRuns() override {
    CudaDevice::forget_all();
    driver::Driver::provide(nullptr);
  }

  // The number of times that the host waits in `action`, which fails.
  int waits_in(const std::function<void()> &action) {
    const int before = fake.count("cuStreamSynchronize");
    EXPECT_THROW(action(), driver::DriverError);
    return fake.count("cuStreamSynchronize") - before;
  }

  driver::fake::FakeDriver fake;
};

TEST_F(WorkThatRuns, ACopyOfTheHostsIsWaitedFor) {
  const Stream other{gpu};
  const PinnedArray<float> pinned{gpu, {2}};
  Buffer<float> buffer{gpu, {2}};
  buffer.copy_to(pinned, other);  // the buffer is in order with another stream
  fake.fail(Entry::EventCreate, Result::out_of_memory, 1);

  EXPECT_EQ(waits_in([&] { buffer.copy_from({1, 2}); }), 1);
  EXPECT_THAT(buffer.to_vector(), ElementsAre(1, 2));
}

TEST_F(WorkThatRuns, ABufferThatWasWrittenInPartIsAnother) {
  Buffer<float> buffer{gpu, {2}};
  const std::uint64_t before = buffer.version();
  fake.fail(Entry::StreamSynchronize, Result::unknown);

  EXPECT_THROW(buffer.copy_from({1, 2}), driver::DriverError);
  EXPECT_GT(buffer.version(), before) << "a tape must see that the values are others";
}

TEST_F(WorkThatRuns, AGraphOnAnotherStreamIsWaitedFor) {
  const auto scale = scale_kernel(fake);
  const Stream stream{gpu}, elsewhere{gpu};
  Buffer<float> in{gpu, {2}, {1, 2}}, out{gpu, {2}};
  Launch launch = scale.record({2}, {.stream = stream}, out, in, 2.0f);
  Graph graph = capture(stream, [&] { launch.launch(); });
  fake.fail(Entry::EventCreate, Result::out_of_memory, 1);

  EXPECT_EQ(waits_in([&] { graph.launch(elsewhere); }), 1);
  EXPECT_THAT(out.to_vector(), ElementsAre(2, 4));
}

TEST_F(WorkThatRuns, ACaptureThatFailedRunsNothing) {
  const auto scale = scale_kernel(fake);
  const Stream stream{gpu};
  Buffer<float> in{gpu, {2}, {1, 2}}, out{gpu, {2}};
  Launch launch = scale.record({2}, {.stream = stream}, out, in, 2.0f);
  EXPECT_THROW(capture(stream,
                       [&] {
                         fake.fail(Entry::StreamGetCaptureInfo, Result::unknown, 1);
                         EXPECT_THROW(launch.launch(), driver::DriverError);  // captured, and not to be found
                         EXPECT_THROW(launch.launch(), UserError);            // not run in the capture's stead
                       }),
               UserError);
  EXPECT_THAT(out.to_vector(), ElementsAre(0, 0));
}

TEST(Capture, OfABodyThatThrowsGoesOnWithoutItOnTheCpu) {
  const Kernel add{"add_one", {"sum"}, [](Array<std::int32_t, 1> sum) {
                     Int i = thread_index();
                     sum(i) += 1;
                   }};
  const Stream stream{Device::cpu()};
  Buffer<std::int32_t> sum{Device::cpu(), {1}};
  Buffer<bool> never{Device::cpu(), {1}};
  Launch launch = add.record({1}, sum);
  Graph graph = capture(stream, [&] {
    EXPECT_THROW(capture_if(never,
                            [&] {
                              launch.launch();
                              throw std::runtime_error("of the caller");
                            }),
                 std::runtime_error);
    launch.launch();
  });
  graph.launch();

  EXPECT_EQ(graph.size(), 1u);
  EXPECT_EQ(sum.at(0), 1) << "the launch after the condition does not depend on it";
}

}  // namespace
}  // namespace samite::test
