#include "samite/driver/tensor_map.h"

#include "samite/driver/device_memory.h"
#include "tests/driver/fake/fake_driver.h"
#include "tests/runtime/message_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

namespace samite::driver {
namespace {

using fake::FakeDriver;
using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;

TiledTensor matrix() {
  TiledTensor t;
  t.type = TensorType::f32;
  t.rank = 2;
  t.address = 0x1000;
  t.extents = {64, 64};
  t.strides = {256};
  t.box = {32, 8};
  return t;
}

TEST(TensorMap, IsEncodedByTheDriver) {
  FakeDriver fake;
  const TensorMap map = TensorMap::encode(Context::primary(fake.driver(), 0), matrix());

  EXPECT_EQ(map.bits().words[0], 0x1000u);
  EXPECT_EQ(fake.count("cuTensorMapEncodeTiled"), 1);
}

TEST(TensorMap, ThatBreaksARuleNeverReachesTheDriver) {
  FakeDriver fake;
  const Context context = Context::primary(fake.driver(), 0);
  TiledTensor t = matrix();
  t.box[1] = 300;

  const std::string message = message_of<UserError>([&] { TensorMap::encode(context, t, nullptr, {"user.cpp", 12}); });

  EXPECT_EQ(message, "user.cpp:12: tensor map: box[1] is 300: it must be 1 to 256");
  EXPECT_EQ(fake.count("cuTensorMapEncodeTiled"), 0);
}

TEST(TensorMap, KeepsItsMemoryAliveUntilItIsReplaced) {
  FakeDriver fake;
  const Context context = Context::primary(fake.driver(), 0);
  auto memory = std::make_shared<const DeviceMemory>(
      DeviceMemory::allocate(Stream::create(context), MemoryPool::standard(context), 1 << 14));
  TiledTensor t = matrix();
  t.address = memory->address();
  TensorMap map = TensorMap::encode(context, t, std::move(memory));

  EXPECT_EQ(fake.count("cuMemFreeAsync"), 0);
  map.replace_address(context, 0x2000);

  EXPECT_EQ(fake.count("cuMemFreeAsync"), 1);
  EXPECT_EQ(map.bits().words[0], 0x2000u);
}

TEST(TensorMap, ReplacedAddressIsAlignedAsTheFirst) {
  FakeDriver fake({.compute_capability = 100});
  TiledTensor t = matrix();
  t.type = TensorType::u4x16_align16;
  t.extents[0] = t.box[0] = 128;
  const Context context = Context::primary(fake.driver(), 0);
  TensorMap map = TensorMap::encode(context, t);

  EXPECT_THAT(message_of<UserError>([&] { map.replace_address(context, 0x2010); }),
              AllOf(HasSubstr("tensor_map_test.cpp"), HasSubstr("0x2010"), HasSubstr("multiple of 32")));
}

TEST(TensorMap, OfAnOlderDeviceOrDriver) {
  {
    FakeDriver fake({.compute_capability = 80});
    EXPECT_THAT(message_of<DeviceError>([&] { TensorMap::encode(Context::primary(fake.driver(), 0), matrix()); }),
                AllOf(HasSubstr("compute capability 9.0"), HasSubstr("cuda:0 has 8.0")));
  }
  TiledTensor t = matrix();
  t.swizzle = Swizzle::bytes_128_atom_32;
  {
    FakeDriver fake;
    EXPECT_THAT(message_of<DeviceError>([&] { TensorMap::encode(Context::primary(fake.driver(), 0), t); }),
                AllOf(HasSubstr("element type or swizzle needs a GPU of compute capability 10.0"), HasSubstr("9.0")));
  }
  FakeDriver fake({.version = 12040, .compute_capability = 100});
  EXPECT_THAT(message_of<DeviceError>([&] { TensorMap::encode(Context::primary(fake.driver(), 0), t); }),
              AllOf(HasSubstr("CUDA 12.8"), HasSubstr("12.4")));
}

TEST(TensorMap, OfColumnsOfImages) {
  FakeDriver fake({.compute_capability = 100});
  const Context context = Context::primary(fake.driver(), 0);
  Im2colTensor columns;
  static_cast<TensorLayout &>(columns) = matrix();
  columns.rank = 3;
  columns.extents = {64, 16, 4};
  columns.strides = {256, 4096};
  columns.channels = 32;
  columns.pixels = 64;
  Im2colWideTensor wide;
  static_cast<TensorLayout &>(wide) = columns;
  wide.swizzle = Swizzle::bytes_128;
  wide.channels = 32;
  wide.pixels = 64;

  EXPECT_EQ(TensorMap::encode(context, columns).bits().words[1], 3u);
  EXPECT_EQ(TensorMap::encode(context, wide).bits().words[1], 3u);

  EXPECT_EQ(fake.count("cuTensorMapEncodeIm2col"), 1);
  EXPECT_EQ(fake.count("cuTensorMapEncodeIm2colWide"), 1);
  columns.pixels = 0;
  EXPECT_THROW(TensorMap::encode(context, columns), UserError);
}

TEST(TensorMap, AlongTheWidthNeedsANewerDevice) {
  FakeDriver fake;
  Im2colWideTensor wide;
  static_cast<TensorLayout &>(wide) = matrix();
  wide.rank = 3;
  wide.extents = {64, 16, 4};
  wide.strides = {256, 4096};
  wide.swizzle = Swizzle::bytes_128;
  wide.channels = 32;
  wide.pixels = 64;

  EXPECT_THAT(message_of<DeviceError>([&] { TensorMap::encode(Context::primary(fake.driver(), 0), wide); }),
              HasSubstr("compute capability 10.0"));
}

TEST(TensorMap, ThatTheDriverRefusesHasItsWords) {
  FakeDriver fake;
  const Context context = Context::primary(fake.driver(), 0);
  fake.fail(Entry::TensorMapEncodeTiled, Result::invalid_value);

  EXPECT_THAT(message_of<DriverError>([&] { TensorMap::encode(context, matrix(), nullptr, {"user.cpp", 12}); }),
              AllOf(HasSubstr("user.cpp:12: cuTensorMapEncodeTiled("), HasSubstr("rank=2, address=0x1000"),
                    HasSubstr("CUDA_ERROR_INVALID_VALUE")));
}

TEST(TensorMap, OfAThreadWithoutAContextIsMadeInOne) {
  FakeDriver fake;
  const Context context = Context::primary(fake.driver(), 0);
  const auto calls_of_encoding = [&] {
    fake.forget_calls();
    EXPECT_EQ(TensorMap::encode(context, matrix()).bits().words[0], 0x1000u);
    return fake.calls();
  };

  // State that a thread has learnt stays with it.
  std::thread([&] {
    for (int again = 0; again < 2; ++again)
      EXPECT_THAT(calls_of_encoding(),
                  ElementsAre("cuCtxGetCurrent", "cuCtxPushCurrent", "cuTensorMapEncodeTiled", "cuCtxPopCurrent"));

    CUcontext current = context.raw();
    fake.driver()->call<Entry::CtxPushCurrent>(current);
    EXPECT_THAT(calls_of_encoding(), ElementsAre("cuCtxGetCurrent", "cuTensorMapEncodeTiled"));
    EXPECT_THAT(calls_of_encoding(), ElementsAre("cuTensorMapEncodeTiled"));

    // A thread that had a context learns from the driver that it has none now.
    fake.driver()->call<Entry::CtxPopCurrent>(&current);
    fake.fail(Entry::TensorMapEncodeTiled, Result::invalid_context);
    EXPECT_THAT(calls_of_encoding(),
                ElementsAre("cuTensorMapEncodeTiled", "cuCtxPushCurrent", "cuTensorMapEncodeTiled", "cuCtxPopCurrent"));
    EXPECT_THAT(calls_of_encoding(),
                ElementsAre("cuCtxGetCurrent", "cuCtxPushCurrent", "cuTensorMapEncodeTiled", "cuCtxPopCurrent"));
  }).join();
}

TEST(TensorMap, ThatTheDriverRefusesInItsContextToo) {
  FakeDriver fake;
  const Context context = Context::primary(fake.driver(), 0);
  fake.fail(Entry::TensorMapEncodeTiled, Result::invalid_context);

  std::thread([&] {
    EXPECT_THAT(message_of<DriverError>([&] { TensorMap::encode(context, matrix(), nullptr, {"user.cpp", 12}); }),
                AllOf(HasSubstr("user.cpp:12: cuTensorMapEncodeTiled("), HasSubstr("CUDA_ERROR_INVALID_CONTEXT")));
    EXPECT_EQ(fake.count("cuCtxPopCurrent"), fake.count("cuCtxPushCurrent"));
  }).join();
}

}  // namespace
}  // namespace samite::driver
