#include "samite/driver/tensor_map_cache.h"

#include "tests/driver/fake/fake_driver.h"
#include "tests/runtime/message_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <atomic>
#include <thread>

namespace samite::driver {
namespace {

using fake::FakeDriver;

TiledTensor matrix_of_rows(std::uint64_t rows) {
  TiledTensor t;
  t.type = TensorType::bf16;
  t.rank = 2;
  t.address = 4096 * rows;
  t.extents = {64, rows};
  t.strides = {128};
  t.box = {64, 8};
  return t;
}

TEST(TensorMapCache, AsksTheDriverOnce) {
  FakeDriver fake;
  TensorMapCache cache(Context::primary(fake.driver(), 0));

  const TensorMapBits first = cache.encode(matrix_of_rows(8)), second = cache.encode(matrix_of_rows(8));

  EXPECT_EQ(first.words[0], 4096u * 8);
  EXPECT_EQ(second.words[0], first.words[0]);
  EXPECT_EQ(fake.count("cuTensorMapEncodeTiled"), 1);
}

TEST(TensorMapCache, TellsMapsApartWhateverTheirPlace) {
  FakeDriver fake;
  TensorMapCache cache(Context::primary(fake.driver(), 0));

  for (int round = 0; round < 2; ++round)
    for (std::uint64_t rows = 1; rows <= 3000; ++rows)
      EXPECT_EQ(cache.encode(matrix_of_rows(rows)).words[0], 4096 * rows);

  TiledTensor other = matrix_of_rows(3000);
  other.swizzle = Swizzle::bytes_128;
  fake.forget_calls();
  cache.encode(other);
  EXPECT_EQ(fake.count("cuTensorMapEncodeTiled"), 1);
}

TEST(TensorMapCache, RefusesWhatBreaksARuleEachTime) {
  FakeDriver fake;
  TensorMapCache cache(Context::primary(fake.driver(), 0));

  for (int round = 0; round < 2; ++round) {
    EXPECT_THAT(message_of<UserError>([&] { cache.encode(matrix_of_rows(0), {"user.cpp", 3}); }),
                testing::StartsWith("user.cpp:3: tensor map: extents[1] is 0"));
    EXPECT_THROW(cache.encode(TiledTensor()), UserError);
  }
}

TEST(TensorMapCache, ServesManyThreads) {
  FakeDriver fake;
  TensorMapCache cache(Context::primary(fake.driver(), 0));
  std::atomic<int> wrong = 0;
  std::vector<std::thread> threads;
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&] {
      for (std::uint64_t rows = 1; rows <= 2000; ++rows)
        if (cache.encode(matrix_of_rows(rows % 50 + 1)).words[0] != 4096 * (rows % 50 + 1)) ++wrong;
    });
  for (std::thread &thread : threads) thread.join();

  EXPECT_EQ(wrong, 0);
}

}  // namespace
}  // namespace samite::driver
