// Rows of 8- and 16-bit numbers that are one longer than some vectors: the last element is stored alone.
#include "tests/tiles/reference.h"

namespace samite::test {
namespace {

// Each row is read after the one before it was written, at the same place.
template <class T>
void expect_rows_apart(std::int64_t columns) {
  SCOPED_TRACE(columns);
  TileKernel kernel{"halves", {"y", "x", "n"}, [=](Array<T, 2> y, Array<const T, 2> x, Int n) {
                      Tile<T> t = tile::load(x, {0, 0}, {3, columns});
                      for (Int i : range(n)) {
                        const Tile<float> wide = tile::cast<float>(t);
                        t = tile::cast<T>(wide * 0.5f + 2.0f);
                      }
                      tile::store(y, {0, 0}, t);
                    }};
  const std::size_t count = static_cast<std::size_t>(3 * columns);
  auto y = poisoned<T>({3, columns});
  kernel.launch({1}, y, buffer<T>({3, columns}, std::vector<double>(count, 4)), 2);
  expect_near(y, std::vector<double>(count, 4), 0);
}

TEST(SmallRows, OneLongerThanVectors) {
  for (const std::int64_t columns : {9, 17, 33}) {
    expect_rows_apart<bfloat16>(columns);
    expect_rows_apart<half>(columns);
    expect_rows_apart<std::int16_t>(columns);
    expect_rows_apart<std::int8_t>(columns);
  }
}

TEST(SmallRows, ARowBesideAnotherTile) {
  TileKernel kernel{"in_turn",
                    {"y", "x", "h", "n"},
                    [](Array<bfloat16, 2> y, Array<const bfloat16, 2> x, Array<const half, 1> h, Int n) {
                      Tile<bfloat16> t = tile::load(x, {0, 0}, {2, 33});
                      const Tile<half> r = tile::load(h, {0}, {33});
                      for (Int i : range(n)) {
                        const Tile<bfloat16> one = tile::cast<bfloat16>(rsqrt(r * r + half(1.0f)));
                        t = t * bfloat16(0.5f) + tile::reshape(one, {1, 33}) * bfloat16(0.5f);
                      }
                      tile::store(y, {0, 0}, t);
                    }};
  auto y = poisoned<bfloat16>({2, 33});
  kernel.launch({1}, y, buffer<bfloat16>({2, 33}, std::vector<double>(66, 1)),
                buffer<half>({33}, std::vector<double>(33, 0)), 2);
  expect_near(y, std::vector<double>(66, 1), 0);
}

}  // namespace
}  // namespace samite::test
