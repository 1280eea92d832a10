#include "samite/driver/context.h"

#include "samite/driver/event.h"
#include "samite/driver/stream.h"
#include "tests/driver/fake/fake_driver.h"
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

CUcontext current(const FakeDriver &fake) {
  CUcontext context = nullptr;
  fake.table().CtxGetCurrent(&context);
  return context;
}

TEST(Context, IsRetainedOnceAndReleasedWithTheLastHandle) {
  FakeDriver fake;
  std::optional<Context> first = Context::primary(fake.driver(), 0);
  std::optional<Context> second = first;

  first.reset();
  EXPECT_EQ(fake.count("cuDevicePrimaryCtxRelease"), 0);
  second.reset();

  EXPECT_EQ(fake.count("cuDevicePrimaryCtxRetain"), 1);
  EXPECT_EQ(fake.count("cuDevicePrimaryCtxRelease"), 1);
}

TEST(Context, OfOneDeviceIsOne) {
  FakeDriver fake;
  const auto driver = fake.driver();

  EXPECT_EQ(Context::primary(driver, 0), Context::primary(driver, 0));
  const Context first = Context::primary(driver, 0), other = Context::primary(driver, 1);
  EXPECT_NE(first, other);
  EXPECT_EQ(other.to_string(), "cuda:1");
}

TEST(Context, IsKeptAliveByWhatIsMadeInIt) {
  FakeDriver fake;
  std::optional<Event> event = Event::create(Context::primary(fake.driver(), 0));

  EXPECT_EQ(fake.count("cuDevicePrimaryCtxRelease"), 0);
  event.reset();

  EXPECT_EQ(fake.count("cuDevicePrimaryCtxRelease"), 1);
}

TEST(Context, OfTheCallerIsCurrentAgainAfterEachCall) {
  FakeDriver fake;
  const auto driver = fake.driver();
  const Context first = Context::primary(driver, 0), second = Context::primary(driver, 1);
  fake.table().CtxPushCurrent(second.raw());

  Stream::create(first).synchronize();

  EXPECT_EQ(current(fake), second.raw());
  CUcontext popped = nullptr;
  fake.table().CtxPopCurrent(&popped);
  EXPECT_EQ(current(fake), nullptr) << "nothing else may be left on the stack";
}

TEST(Context, ThatIsCurrentIsNotPushed) {
  FakeDriver fake;
  const Context context = Context::primary(fake.driver(), 0);
  const Stream stream = Stream::create(context);
  CUcontext popped = nullptr;
  fake.table().CtxPushCurrent(context.raw());
  fake.forget_calls();

  stream.synchronize();

  EXPECT_EQ(fake.count("cuCtxPushCurrent"), 0);
  fake.table().CtxPopCurrent(&popped);
}

TEST(Context, ServesThreadsThatHaveNoneCurrent) {
  FakeDriver fake;
  const Context context = Context::primary(fake.driver(), 0);
  std::optional<Stream> stream = Stream::create(context);

  std::thread([&] { stream->synchronize(); }).join();
  std::thread([&] { stream.reset(); }).join();

  EXPECT_EQ(fake.count("cuStreamDestroy"), 1);
}

TEST(Context, OfADeviceThatIsNotThere) {
  FakeDriver fake;
  const auto driver = fake.driver();

  const std::string message = message_of<DriverError>([&] { Context::primary(driver, 9); });

  EXPECT_THAT(message, AllOf(HasSubstr("cuDeviceGet(ordinal=9)"), HasSubstr("CUDA_ERROR_INVALID_DEVICE"),
                             HasSubstr("There is no GPU of that number")));
}

TEST(Context, OfADeviceHeldByAnother) {
  FakeDriver fake;
  const auto driver = fake.driver();
  fake.fail(Entry::DevicePrimaryCtxRetain, Result::device_unavailable);

  const std::string message = message_of<DriverError>([&] { Context::primary(driver, 0); });

  EXPECT_THAT(message, AllOf(HasSubstr("cuDevicePrimaryCtxRetain"), HasSubstr("exclusive mode")));
}

TEST(Context, ThatWasResetIsLostWithAReason) {
  FakeDriver fake;
  const Context context = Context::primary(fake.driver(), 0);
  const Stream stream = Stream::create(context);
  fake.reset_device(0);

  const std::string message = message_of<DriverError>([&] { stream.synchronize(); });

  EXPECT_THAT(message, AllOf(HasSubstr("cuda:0 can no longer be used"), HasSubstr("CUDA_ERROR_CONTEXT_IS_DESTROYED"),
                             HasSubstr("cudaDeviceReset")));
  EXPECT_TRUE(context.lost());
}

TEST(Context, PeerAccessIsEnabledAndMayBeAskedForAgain) {
  FakeDriver fake({.devices = 3});
  const auto driver = fake.driver();
  const Context first = Context::primary(driver, 0), second = Context::primary(driver, 1);

  first.enable_peer_access(second);
  EXPECT_NO_THROW(first.enable_peer_access(second));

  const Context far = Context::primary(driver, 2);
  EXPECT_THAT(message_of<DeviceError>([&] { first.enable_peer_access(far); }),
              AllOf(HasSubstr("cuda:0 cannot reach the memory of cuda:2"), HasSubstr("Copy")));
}

TEST(Context, LimitsAreTheDevices) {
  FakeDriver fake({.compute_capability = 80});
  const LaunchLimits limits = Context::primary(fake.driver(), 0).limits();

  EXPECT_EQ(limits.compute_capability, 80);
  EXPECT_EQ(limits.grid[1], 65535u);
  EXPECT_FALSE(limits.clusters);
}

}  // namespace
}  // namespace samite::driver
