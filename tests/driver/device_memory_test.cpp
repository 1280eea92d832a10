#include "samite/driver/device_memory.h"

#include "samite/driver/copy.h"
#include "samite/driver/event.h"
#include "samite/driver/pinned_memory.h"
#include "tests/driver/fake/fake_driver.h"
#include "tests/runtime/message_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <optional>

namespace samite::driver {
namespace {

using fake::FakeDriver;
using testing::AllOf;
using testing::HasSubstr;

constexpr std::size_t mebibyte = std::size_t{1} << 20;

TEST(DeviceMemory, IsFreedInItsStreamAfterTheLastCopy) {
  FakeDriver fake;
  const Context context = Context::primary(fake.driver(), 0);
  const MemoryPool pool = MemoryPool::create(context);
  std::optional<DeviceMemory> memory = DeviceMemory::allocate(Stream::create(context), pool, 1024);

  EXPECT_EQ(pool.usage().used, 1024u);
  EXPECT_EQ(fake.count("cuStreamDestroy"), 0) << "the memory needs its stream";
  memory.reset();

  EXPECT_EQ(pool.usage().used, 0u);
  EXPECT_EQ(fake.count("cuStreamDestroy"), 1);
}

TEST(DeviceMemory, KeepsItsPoolAlive) {
  FakeDriver fake;
  const Context context = Context::primary(fake.driver(), 0);
  std::optional<DeviceMemory> memory =
      DeviceMemory::allocate(Stream::create(context), MemoryPool::create(context), 1024);

  EXPECT_EQ(fake.count("cuMemPoolDestroy"), 0);
  memory.reset();
  EXPECT_EQ(fake.count("cuMemPoolDestroy"), 1);
}

TEST(DeviceMemory, OfNoBytesNeedsNoDriver) {
  FakeDriver fake;
  const Context context = Context::primary(fake.driver(), 0);

  const DeviceMemory memory = DeviceMemory::allocate(Stream::create(context), MemoryPool::standard(context), 0);

  EXPECT_EQ(memory.address(), 0u);
  EXPECT_EQ(fake.count("cuMemAllocFromPoolAsync"), 0);
}

TEST(DeviceMemory, ComesBackAsItWasCopied) {
  FakeDriver fake;
  const Context context = Context::primary(fake.driver(), 0);
  const Stream stream = Stream::create(context);
  const MemoryPool pool = MemoryPool::standard(context);
  const DeviceMemory a = DeviceMemory::allocate(stream, pool, 16), b = DeviceMemory::allocate(stream, pool, 16);
  const std::array<int, 4> given{1, 2, 3, 4};
  std::array<int, 4> got{};

  copy_to_device(stream, a.address(), given.data(), 16);
  copy_on_device(stream, b.address(), a.address(), 16);
  fill_words(stream, b.address(), 7, 1);
  fill_bytes(stream, b.address() + 12, 0, 4);
  copy_to_host(stream, got.data(), b.address(), 16);
  stream.synchronize();

  EXPECT_THAT(got, testing::ElementsAre(7, 2, 3, 0));
}

TEST(DeviceMemory, GoesBetweenDevices) {
  FakeDriver fake;
  const auto driver = fake.driver();
  const Context first = Context::primary(driver, 0), second = Context::primary(driver, 1);
  const Stream stream = Stream::create(first), far = Stream::create(second);
  const DeviceMemory a = DeviceMemory::allocate(stream, MemoryPool::standard(first), 4);
  const DeviceMemory b = DeviceMemory::allocate(far, MemoryPool::standard(second), 4);
  fill_words(stream, a.address(), 42, 1);
  far.synchronize();
  int got = 0;

  copy_between_devices(stream, second, b.address(), first, a.address(), 4);
  stream.synchronize();
  copy_to_host(far, &got, b.address(), 4);
  far.synchronize();

  EXPECT_EQ(got, 42);
}

TEST(DeviceMemory, MayBeFreedInAnotherStream) {
  FakeDriver fake;
  const Context context = Context::primary(fake.driver(), 0);
  const Stream first = Stream::create(context), second = Stream::create(context);
  const Event event = Event::create(context);
  std::optional<DeviceMemory> memory = DeviceMemory::allocate(first, MemoryPool::standard(context), 64);
  event.record(first);
  second.wait(event);

  fill_bytes(second, memory->address(), 0, 64);
  memory->free_in(second);
  memory.reset();

  EXPECT_EQ(fake.count("cuMemFreeAsync"), 1);
}

TEST(DeviceMemory, OfTheDeviceRunsOutWithFigures) {
  FakeDriver fake({.device_bytes = 64 * mebibyte});
  const Context context = Context::primary(fake.driver(), 0);
  const Stream stream = Stream::create(context);
  const MemoryPool pool = MemoryPool::create(context);
  const DeviceMemory kept = DeviceMemory::allocate(stream, pool, 1000);
  fake.leave_free(5000);
  try {
    DeviceMemory::allocate(stream, pool, 8 * mebibyte, {.kernel = "axpy", .where = {"user.cpp", 12}});
    FAIL();
  } catch (const DriverError &error) {
    EXPECT_EQ(error.code(), Result::out_of_memory);
    EXPECT_THAT(error.what(),
                AllOf(HasSubstr("user.cpp:12: kernel \"axpy\": out of memory on cuda:0"), HasSubstr("8388608 bytes"),
                      HasSubstr("The pool holds 1000 bytes, of which 1000 bytes are in use"),
                      HasSubstr("5000 bytes free of 67108864 bytes"), HasSubstr("Other users of the device"),
                      HasSubstr("CUDA_ERROR_OUT_OF_MEMORY")));
  }
}

TEST(DeviceMemory, LargerThanTheDevice) {
  FakeDriver fake({.device_bytes = mebibyte});
  const Context context = Context::primary(fake.driver(), 0);

  const std::string message = message_of<DriverError>(
      [&] { DeviceMemory::allocate(Stream::create(context), MemoryPool::standard(context), 2 * mebibyte); });

  EXPECT_THAT(message, HasSubstr("The device is too small for this"));
}

TEST(DeviceMemory, OfAPoolWithALimitRunsOut) {
  FakeDriver fake;
  const Context context = Context::primary(fake.driver(), 0);
  const MemoryPool pool = MemoryPool::create(context, 4096);

  const std::string message =
      message_of<DriverError>([&] { DeviceMemory::allocate(Stream::create(context), pool, 8192); });

  EXPECT_THAT(message, AllOf(HasSubstr("The pool's limit is 4096 bytes"), HasSubstr("limit is what is in the way")));
}

TEST(DeviceMemory, OfAnotherDeviceThanItsStream) {
  FakeDriver fake;
  const auto driver = fake.driver();
  const Stream stream = Stream::create(Context::primary(driver, 0));
  const MemoryPool pool = MemoryPool::standard(Context::primary(driver, 1));

  EXPECT_THAT(message_of<UserError>([&] { DeviceMemory::allocate(stream, pool, 64); }),
              AllOf(HasSubstr("cuda:1"), HasSubstr("of cuda:0"), HasSubstr("one device")));
}

TEST(MemoryPool, LimitNeedsADriverThatKnowsIt) {
  FakeDriver fake({.version = 12000});
  const Context context = Context::primary(fake.driver(), 0);

  EXPECT_THAT(message_of<DeviceError>([&] { MemoryPool::create(context, 4096); }),
              AllOf(HasSubstr("4096"), HasSubstr("12.2"), HasSubstr("12.0")));
}

TEST(MemoryPool, KeepsWhatItIsTold) {
  FakeDriver fake;
  const Context context = Context::primary(fake.driver(), 0);
  const MemoryPool pool = MemoryPool::create(context);
  pool.keep(2048);

  DeviceMemory::allocate(Stream::create(context), pool, 4096);
  EXPECT_EQ(pool.usage().reserved, 2048u);
  pool.trim();

  EXPECT_EQ(pool.usage().reserved, 0u);
}

TEST(MemoryPool, IsReachedFromAPeerThatIsAllowed) {
  FakeDriver fake;
  const auto driver = fake.driver();
  const Context first = Context::primary(driver, 0), second = Context::primary(driver, 1);
  const MemoryPool pool = MemoryPool::create(first);
  const Stream stream = Stream::create(first), far = Stream::create(second);
  const DeviceMemory memory = DeviceMemory::allocate(stream, pool, 4);
  stream.synchronize();

  pool.allow_access_from(second);
  fill_words(far, memory.address(), 1, 1);
  far.synchronize();

  EXPECT_TRUE(fake.take_mistakes().empty());
}

TEST(PinnedMemory, IsFreedAfterTheLastCopy) {
  FakeDriver fake;
  const Context context = Context::primary(fake.driver(), 0);
  {
    const PinnedMemory memory = PinnedMemory::allocate(context, 256);
    const PinnedMemory copy = memory;
    EXPECT_NE(copy.data(), nullptr);
    EXPECT_EQ(PinnedMemory::allocate(context, 0).data(), nullptr);
  }
  EXPECT_EQ(fake.count("cuMemFreeHost"), 1);
}

TEST(PinnedMemory, RunsOutWithAReason) {
  FakeDriver fake;
  const Context context = Context::primary(fake.driver(), 0);
  fake.fail(Entry::MemHostAlloc, Result::out_of_memory);

  EXPECT_THAT(message_of<DriverError>([&] { PinnedMemory::allocate(context, 4096); }),
              AllOf(HasSubstr("out of memory on the host: 4096 bytes"), HasSubstr("ulimit -l")));
}

}  // namespace
}  // namespace samite::driver
