#include "samite/driver/launch.h"

#include "samite/driver/copy.h"
#include "tests/driver/small_kernels.h"
#include "tests/runtime/message_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <optional>
#include <thread>

namespace samite::driver {
namespace {

using fake::FakeDriver;
using testing::AllOf;
using testing::HasSubstr;

struct Launch : testing::Test {
  FakeDriver fake;
  Context context = Context::primary(fake.driver(), 0);
  Stream stream = Stream::create(context);
  Kernel kernel = test::load(fake, context, {.name = "axpy"});

  std::string refusal(const LaunchShape &shape) {
    return message_of<UserError>([&] { PreparedLaunch(stream, kernel, shape, {"user.cpp", 12}); });
  }
};

TEST_F(Launch, RunsTheKernelWithItsParameters) {
  const Kernel add = test::load(fake, context, test::add_code());
  const DeviceMemory sum = DeviceMemory::allocate(stream, MemoryPool::standard(context), 4);
  int got = 0;

  fill_words(stream, sum.address(), 40, 1);
  test::add(stream, add, sum.address(), 2);
  copy_to_host(stream, &got, sum.address(), 4);
  stream.synchronize();

  EXPECT_EQ(got, 42);
}

TEST_F(Launch, OfAKernelNeedsNoCurrentContext) {
  const PreparedLaunch prepared(stream, kernel, {}, {});
  fake.forget_calls();

  std::thread([&] { prepared.run(nullptr); }).join();

  EXPECT_THAT(fake.calls(), testing::ElementsAre("cuLaunchKernelEx"));
}

TEST_F(Launch, OnTheDefaultStreamMakesTheContextCurrent) {
  const Stream standard = Stream::borrow(context, nullptr);

  EXPECT_NO_THROW(launch(standard, kernel, {}, nullptr));
}

TEST_F(Launch, KeepsKernelAndStreamAlive) {
  std::optional<PreparedLaunch> prepared(std::in_place, Stream::create(context),
                                         test::load(fake, context, {.name = "other"}), LaunchShape{}, SourceLocation{});

  EXPECT_NO_THROW(prepared->run(nullptr));
  EXPECT_EQ(fake.count("cuLibraryUnload") + fake.count("cuStreamDestroy"), 0);
  prepared.reset();
  EXPECT_EQ(fake.count("cuLibraryUnload") + fake.count("cuStreamDestroy"), 2);
}

TEST_F(Launch, GivesItsAttributesToTheDriver) {
  const PreparedLaunch prepared(
      stream, kernel,
      {.grid = {8, 1, 1}, .cluster = {{4, 1, 1}}, .programmatic = true, .cooperative = true, .priority = -2}, {});

  ASSERT_EQ(prepared.config().attribute_count, 4u);
  const LaunchAttribute *attributes = prepared.attributes();
  EXPECT_EQ(attributes[0].id, LaunchAttributeId::cluster_dimension);
  EXPECT_EQ(attributes[0].value.cluster_dimension.x, 4u);
  EXPECT_EQ(attributes[1].id, LaunchAttributeId::programmatic_stream_serialization);
  EXPECT_EQ(attributes[2].id, LaunchAttributeId::cooperative);
  EXPECT_EQ(attributes[3].id, LaunchAttributeId::priority);
  EXPECT_EQ(attributes[3].value.priority, -2);
  EXPECT_NO_THROW(prepared.run(nullptr));
}

TEST_F(Launch, AsksForSharedMemoryAndLargeClusters) {
  EXPECT_NO_THROW(launch(stream, kernel, {.shared_bytes = 100 * 1024}, nullptr));
  EXPECT_NO_THROW(launch(stream, kernel, {.grid = {16, 1, 1}, .cluster = {{16, 1, 1}}}, nullptr));
}

TEST_F(Launch, OfNothingIsRefused) {
  EXPECT_THAT(refusal({.grid = {4, 0, 1}}),
              AllOf(HasSubstr("user.cpp:12: kernel \"axpy\": a grid of 4x0x1 has no blocks"), HasSubstr("at least 1")));
  EXPECT_THAT(refusal({.block = {0, 1, 1}}), HasSubstr("a block of 0x1x1 has no threads"));
}

TEST_F(Launch, BeyondTheDevicesLimitsIsRefused) {
  EXPECT_THAT(refusal({.grid = {1, 65536, 1}}),
              AllOf(HasSubstr("a grid of 1x65536x1 blocks is too large"), HasSubstr("2147483647x65535x65535")));
  EXPECT_THAT(refusal({.grid = {2147483648u, 1, 1}}), HasSubstr("too large"));
  EXPECT_THAT(refusal({.block = {1, 1, 65}}), HasSubstr("a block of 1x1x65 threads is too large"));
  EXPECT_THAT(refusal({.block = {64, 32, 1}}), AllOf(HasSubstr("has 2048 threads"), HasSubstr("up to 1024")));
  EXPECT_THAT(refusal({.shared_bytes = 300000}), AllOf(HasSubstr("300000 bytes"), HasSubstr("cuda:0 has 232448")));
}

TEST_F(Launch, InClustersThatCannotBeIsRefused) {
  EXPECT_THAT(refusal({.grid = {10, 1, 1}, .cluster = {{4, 1, 1}}}),
              AllOf(HasSubstr("grid of 10x1x1 blocks is not whole clusters of 4x1x1"), HasSubstr("round the grid up")));
  EXPECT_THAT(refusal({.grid = {32, 1, 1}, .cluster = {{32, 1, 1}}}), HasSubstr("may have 1 to 16"));
}

TEST(LaunchOnOlderDevice, HasNoClusters) {
  FakeDriver fake({.compute_capability = 80});
  const Context context = Context::primary(fake.driver(), 0);
  const Kernel kernel = test::load(fake, context, {.name = "axpy"});

  EXPECT_THAT(
      message_of<UserError>([&] { launch(Stream::create(context), kernel, {.cluster = {{1, 1, 1}}}, nullptr); }),
      AllOf(HasSubstr("compute capability 9.0"), HasSubstr("cuda:0 has 8.0")));
}

TEST(LaunchOnOlderDevice, BeginsWhenTheOneBeforeItHasEnded) {
  FakeDriver fake({.compute_capability = 80});
  const Context context = Context::primary(fake.driver(), 0);
  const Kernel kernel = test::load(fake, context, {.name = "axpy"});

  EXPECT_THAT(message_of<UserError>([&] { launch(Stream::create(context), kernel, {.programmatic = true}, nullptr); }),
              AllOf(HasSubstr("programmatic dependent launch needs"), HasSubstr("9.0"), HasSubstr("cuda:0 has 8.0")));
}

TEST(LaunchOnSmallDevice, HasNoLargeClusters) {
  FakeDriver fake({.largest_cluster = 4});
  const Context context = Context::primary(fake.driver(), 0);
  const Kernel kernel = test::load(fake, context, {.name = "axpy"});
  const Stream stream = Stream::create(context);

  EXPECT_THAT(message_of<UserError>([&] {
                launch(stream, kernel, {.grid = {8, 1, 1}, .block = {256, 1, 1}, .cluster = {{8, 1, 1}}}, nullptr);
              }),
              AllOf(HasSubstr("a cluster of 8x1x1 has 8 blocks"), HasSubstr("cuda:0 has room for 4 of 256 threads")));
  EXPECT_NO_THROW(launch(stream, kernel, {.grid = {8, 1, 1}, .cluster = {{4, 1, 1}}}, nullptr));
}

TEST_F(Launch, OnAnotherDeviceIsRefused) {
  const Stream far = Stream::create(Context::primary(context.shared_driver(), 1));

  EXPECT_THAT(message_of<UserError>([&] { launch(far, kernel, {}, nullptr); }),
              AllOf(HasSubstr("launch_test.cpp"), HasSubstr("kernel \"axpy\""), HasSubstr("compiled for cuda:0"),
                    HasSubstr("of cuda:1")));
}

TEST_F(Launch, ThatTheDriverRefusesNamesKernelLineAndShape) {
  const PreparedLaunch prepared(stream, kernel, {.grid = {3, 2, 1}, .block = {128, 1, 1}}, {"user.cpp", 7});
  fake.fail(Entry::LaunchKernelEx, Result::launch_out_of_resources);

  const std::string message = message_of<DriverError>([&] { prepared.run(nullptr); });

  EXPECT_THAT(message, AllOf(HasSubstr("user.cpp:7: kernel \"axpy\": cuLaunchKernelEx("), HasSubstr("grid 3x2x1"),
                             HasSubstr("block 128x1x1"), HasSubstr("CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES (701)"),
                             HasSubstr("fewer threads")));
}

}  // namespace
}  // namespace samite::driver
