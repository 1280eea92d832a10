// The fake detects the mistakes of programs; tests of the adapter rely on it.
#include "samite/driver/copy.h"
#include "samite/driver/device_memory.h"
#include "samite/driver/event.h"
#include "samite/driver/pinned_memory.h"
#include "tests/driver/small_kernels.h"

#include <gmock/gmock.h>
#include <gtest/gtest-spi.h>
#include <gtest/gtest.h>

namespace samite::driver {
namespace {

using fake::FakeDriver;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Fake : testing::Test {
  FakeDriver fake;
  EntryPoints table = fake.table();
  Context context = Context::primary(fake.driver(), 0);
  Stream stream = Stream::create(context);
  MemoryPool pool = MemoryPool::standard(context);
};

TEST_F(Fake, SeesUseAfterFree) {
  CUdeviceptr address = 0;
  {
    const DeviceMemory memory = DeviceMemory::allocate(stream, pool, 64);
    address = memory.address();
  }
  EXPECT_THROW(fill_bytes(stream, address, 0, 4), DriverError);
  EXPECT_THAT(fake.take_mistakes(), ElementsAre(HasSubstr("used after it was freed")));
}

TEST_F(Fake, SeesDoubleFree) {
  CUdeviceptr address = 0;
  context.call<Entry::MemAllocFromPoolAsync>(&address, std::size_t{64}, pool.raw(), stream.raw());
  context.call<Entry::MemFreeAsync>(address, stream.raw());
  EXPECT_THROW(context.call<Entry::MemFreeAsync>(address, stream.raw()), DriverError);
  EXPECT_THAT(fake.take_mistakes(), ElementsAre(HasSubstr("freed a second time")));
}

TEST_F(Fake, SeesWorkThatIsNotOrderedAfterTheAllocation) {
  const Stream other = Stream::create(context);
  const DeviceMemory memory = DeviceMemory::allocate(stream, pool, 64);

  EXPECT_THROW(fill_bytes(other, memory.address(), 0, 4), DriverError);

  EXPECT_THAT(fake.take_mistakes(), ElementsAre(HasSubstr("has not waited for its allocation")));
}

TEST_F(Fake, SeesAFreeThatIsNotOrderedAfterTheLastUse) {
  const Stream other = Stream::create(context);
  {
    const DeviceMemory memory = DeviceMemory::allocate(stream, pool, 64);
    stream.synchronize();
    fill_bytes(other, memory.address(), 0, 4);
  }
  EXPECT_THAT(fake.take_mistakes(), ElementsAre(HasSubstr("freed while another stream may use it")));
}

TEST_F(Fake, SeesPinnedMemoryThatIsFreedBeforeItsCopies) {
  const DeviceMemory memory = DeviceMemory::allocate(stream, pool, 64);
  {
    const PinnedMemory pinned = PinnedMemory::allocate(context, 64);
    copy_to_device(stream, memory.address(), pinned.data(), 64);
    stream.synchronize();
  }
  EXPECT_THAT(fake.take_mistakes(), IsEmpty());
  {
    const PinnedMemory pinned = PinnedMemory::allocate(context, 64);
    copy_to_host(stream, pinned.data(), memory.address(), 64);
  }
  EXPECT_THAT(fake.take_mistakes(), ElementsAre(HasSubstr("freed while a copy may use it")));
}

TEST_F(Fake, SeesMemoryBeyondItsEnd) {
  const DeviceMemory memory = DeviceMemory::allocate(stream, pool, 64);
  EXPECT_THROW(fill_bytes(stream, memory.address() + 62, 0, 4), DriverError);
  EXPECT_THAT(fake.take_mistakes(), ElementsAre(HasSubstr("outside the memory")));
}

TEST_F(Fake, SeesMemoryOfAnotherDevice) {
  const Stream far = Stream::create(Context::primary(context.shared_driver(), 1));
  const DeviceMemory memory = DeviceMemory::allocate(stream, pool, 64);
  stream.synchronize();
  EXPECT_THROW(fill_bytes(far, memory.address(), 0, 4), DriverError);
  EXPECT_THAT(fake.take_mistakes(), ElementsAre(HasSubstr("without access")));
}

TEST_F(Fake, SeesTheWrongContext) {
  const Context other = Context::primary(context.shared_driver(), 1);
  EXPECT_THROW(other.call<Entry::StreamSynchronize>(stream.raw()), DriverError);
  EXPECT_EQ(table.StreamSynchronize(stream.raw()), Result::invalid_handle);
  EXPECT_THAT(fake.take_mistakes(), ElementsAre(HasSubstr("not current"), HasSubstr("not current")));
}

TEST_F(Fake, SeesObjectsThatWereDestroyed) {
  CUstream raw = nullptr;
  context.call<Entry::StreamCreateWithPriority>(&raw, 0u, 0);
  context.call<Entry::StreamDestroy>(raw);
  EXPECT_THROW(context.call<Entry::StreamDestroy>(raw), DriverError);
  EXPECT_THAT(fake.take_mistakes(), ElementsAre(HasSubstr("stream is used after it was destroyed")));
}

TEST_F(Fake, SeesAKernelWhoseLibraryWasUnloaded) {
  CUkernel raw = nullptr;
  {
    const Kernel kernel = test::load(fake, context, {.name = "k"});
    raw = kernel.raw();
  }
  LaunchConfig config{1, 1, 1, 1, 1, 1, 0, stream.raw(), nullptr, 0};
  EXPECT_EQ(table.LaunchKernelEx(&config, reinterpret_cast<CUfunction>(raw), nullptr, nullptr), Result::invalid_handle);
  EXPECT_THAT(fake.take_mistakes(), ElementsAre(HasSubstr("after its library was unloaded")));
}

TEST_F(Fake, ListsWhatIsNeverGivenBack) {
  const Event event = Event::create(context);
  const DeviceMemory memory = DeviceMemory::allocate(stream, pool, 64);
  EXPECT_THAT(fake.alive(),
              testing::UnorderedElementsAre("context of device 0", "stream", "event", "64 bytes of device memory"));
}

TEST(FakeAtItsEnd, FailsTheTestForMistakesAndLeaks) {
  EXPECT_NONFATAL_FAILURE(
      {
        FakeDriver fake;
        EXPECT_EQ(fake.table().StreamSynchronize(nullptr), Result::invalid_handle);
      },
      "no context is current");

  EXPECT_NONFATAL_FAILURE(
      {
        FakeDriver fake;
        CUcontext raw = nullptr;
        fake.driver()->call<Entry::DevicePrimaryCtxRetain>(&raw, 1);
      },
      "never given back: context of device 1");
}

TEST_F(Fake, FailsTheCallItIsTold) {
  fake.fail(Entry::EventCreate, Result::not_permitted, 1);
  const Event first = Event::create(context);
  EXPECT_THROW(Event::create(context), DriverError);
  EXPECT_NO_THROW(Event::create(context));
  EXPECT_THAT(fake.take_mistakes(), IsEmpty());
}

TEST_F(Fake, RecordsCallsInOrder) {
  fake.forget_calls();
  stream.synchronize();
  EXPECT_THAT(fake.calls(),
              ElementsAre("cuCtxGetCurrent", "cuCtxPushCurrent", "cuStreamSynchronize", "cuCtxPopCurrent"));
}

}  // namespace
}  // namespace samite::driver
