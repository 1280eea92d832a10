// Arrays with more elements in a dimension than an Int counts.
#include "tests/runtime/message_of.h"
#include "tests/tiles/reference.h"

#include <gmock/gmock.h>

namespace samite::test {
namespace {

using testing::HasSubstr;

constexpr std::int64_t two_to_33 = std::int64_t{1} << 33;

// One element under all indices.
Buffer<float> endless(std::int64_t extent) { return Buffer<float>(device(), {1}, {0.5F}).broadcast({extent}); }

TEST(WideTiles, ATileWhoseNumberTimesItsExtentIsBeyond32Bits) {
  const TileKernel sum{"sum", {"out", "x", "number"}, [](Array<float, 1> out, Array<const float, 1> x, Int number) {
                         tile::store(out, {0}, tile::full<float>({1}, tile::sum(tile::load(x, {(1 << 27) - 1}, {64}))));
                         tile::store(out, {1}, tile::full<float>({1}, tile::sum(tile::load(x, {number}, {64}))));
                         tile::store(out, {2}, tile::full<float>({1}, tile::sum(tile::load(x, {number * 2}, {64}))));
                       }};
  Buffer<float> out(device(), {3});
  sum.launch({1}, out, endless(two_to_33), (1 << 27) - 1);
  EXPECT_EQ(out.to_vector(), (std::vector<float>{32, 32, 0}));
  sum.launch({1}, out, endless(two_to_33 - 24), (1 << 27) - 1);
  EXPECT_EQ(out.to_vector(), (std::vector<float>{20, 20, 0}));
  sum.launch({1}, out, endless(64), 0);
  EXPECT_EQ(out.to_vector(), (std::vector<float>{0, 32, 32}));
}

// Memory is allocated when it is touched.
TEST(WideTiles, TilesNearTheEndOfMoreThan2GiB) {
  constexpr std::int64_t extent = (std::int64_t{1} << 31) + (1 << 20) + 5, tile_extent = 4096;
  Buffer<std::uint8_t> x(device(), {extent}), y(device(), {extent});
  const std::int64_t last = extent / tile_extent, first = last - 3;
  for (std::int64_t i = first * tile_extent; i < extent; ++i)
    x.slice(0, i, i + 1).copy_from(Buffer<std::uint8_t>(device(), {1}, {static_cast<std::uint8_t>(i % 251)}));
  const TileKernel copy{
      "copy", {"y", "x", "first"}, [](Array<std::uint8_t, 1> y, Array<const std::uint8_t, 1> x, Int first) {
        const Int number = block_index() + first;
        tile::store(y, {number}, tile::load(x, {number}, {4096}));
      }};
  copy.launch({5}, y, x, static_cast<int>(first));
  const std::vector<std::uint8_t> got = y.slice(0, first * tile_extent, extent).clone().to_vector();
  for (std::size_t i = 0; i < got.size(); ++i)
    ASSERT_EQ(got[i], (first * tile_extent + static_cast<std::int64_t>(i)) % 251) << i;
}

TEST(WideTiles, TheGradientOfOne) {
  constexpr std::int64_t rows = (std::int64_t{1} << 31) / 64 + 2;
  Buffer<half> x(device(), {rows * 64}, Gradient::tracked);
  Buffer<float> out(device(), {1}, Gradient::tracked);
  const TileKernel square{
      "square", {"out", "x", "number"}, [](Array<float, 1> out, Array<const half, 1> x, Int number) {
        const auto part = tile::cast<float>(tile::load(x, {number}, {64}));
        tile::store(out, {0}, tile::full<float>({1}, tile::sum(part * 3.F)));
      }};
  square.launch({1}, out, x, static_cast<int>(rows - 1));
  out.gradient().fill(1);
  square.launch({1}, {.direction = Direction::adjoint}, out, x, static_cast<int>(rows - 1));
  const auto last = Buffer<half>(x.gradient().slice(0, (rows - 2) * 64, rows * 64).clone()).to_vector();
  for (std::size_t i = 0; i < 128; ++i) ASSERT_EQ(static_cast<float>(last[i]), i < 64 ? 0.F : 3.F) << i;
}

TEST(WideArrays, IndexedWithIntAreRefused) {
  const Kernel kernel{"reads", {"y", "x"}, [](Array<float, 1> y, Array<const float, 1> x) {
                        Int i = thread_index();
                        y(i) = x(i * 64);
                      }};
  Buffer<float> y(device(), {4});
  const std::string message = message_of<UserError>([&] { kernel.launch({4}, y, endless(two_to_33)); });
  EXPECT_THAT(message, HasSubstr("argument 1 ('x') has extent 8589934592 in dimension 0"));
  EXPECT_THAT(message, HasSubstr("wide_test.cpp"));
  EXPECT_THAT(message, HasSubstr("index with Int64"));
  kernel.launch({4}, y, endless(2147483647));
}

TEST(WideArrays, WhoseExtentIsAskedForAreRefused) {
  const Kernel kernel{
      "asks", {"y", "x"}, [](Array<std::int32_t, 1> y, Array<const float, 1> x) { y(thread_index()) = x.extent(0); }};
  Buffer<std::int32_t> y(device(), {1});
  const std::string message = message_of<UserError>([&] { kernel.launch({1}, y, endless(two_to_33)); });
  EXPECT_THAT(message, HasSubstr("argument 1 ('x') has extent 8589934592 in dimension 0"));
  EXPECT_THAT(message, HasSubstr("as a parameter of type Int64"));
}

TEST(WideArrays, AreReadWithInt64) {
  const Kernel kernel{"reads", {"y", "x"}, [](Array<float, 1> y, Array<const float, 1> x) {
                        Int i = thread_index();
                        y(i) = x(cast<Int64>(i) * 2'000'000'000);
                      }};
  Buffer<float> y(device(), {4});
  kernel.launch({4}, y, endless(two_to_33));
  EXPECT_EQ(y.to_vector(), std::vector<float>(4, 0.5F));
}

}  // namespace
}  // namespace samite::test
