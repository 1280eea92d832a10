#include "samite/runtime/shared_elements.h"

#include "samite/runtime/buffer.h"
#include "tests/runtime/test_device.h"

#include <gtest/gtest.h>

#include <random>
#include <set>

namespace samite::test {
namespace {

std::set<const std::byte *> places_of(const AnyBuffer &view) {
  std::set<const std::byte *> places{static_cast<const std::byte *>(view.data())};
  for (int d = 0; d < view.rank(); ++d) {
    std::set<const std::byte *> all;
    for (std::int64_t i = 0; i < view.extents()[d]; ++i)
      for (const std::byte *place : places) all.insert(place + i * view.strides()[static_cast<std::size_t>(d)] * 4);
    places = std::move(all);
  }
  return places;
}

AnyBuffer random_view(AnyBuffer view, std::mt19937 &random) {
  for (int d = 0; d < view.rank(); ++d) {
    const std::int64_t extent = view.extents()[d];
    const auto below = [&](std::int64_t n) { return static_cast<std::int64_t>(random() % static_cast<unsigned>(n)); };
    const std::int64_t begin = below(extent), end = begin + 1 + below(extent - begin), step = 1 + below(3);
    view = below(4) == 0 ? view.slice(d, end - 1, begin - 1, -step) : view.slice(d, begin, end, step);
  }
  return random() % 3 == 0 ? view.transpose() : view;
}

TEST(SharedElements, AreThoseThatCountingFinds) {
  std::mt19937 random(1);
  const Extents shapes[] = {{60}, {9, 11}, {4, 5, 6}, {3, 4, 3, 4}};
  for (int i = 0; i < 3000; ++i) {
    const Buffer<float> array(test::device(), shapes[i % 4]);
    const AnyBuffer a = random_view(array, random), b = random_view(array, random);
    const auto of_a = places_of(a), of_b = places_of(b);
    const bool share = std::ranges::any_of(of_a, [&](const std::byte *place) { return of_b.contains(place); });
    ASSERT_EQ(share_elements(a, b), share) << a.to_string() << ", " << b.to_string();
  }
}

TEST(SharedElements, OfColumnsOfALargeArray) {
  const Buffer<float> array(test::device(), {2000, 64});
  const AnyBuffer left = array.slice(1, 0, 32), right = array.slice(1, 32, 64);
  EXPECT_FALSE(share_elements(left, right));
  EXPECT_FALSE(share_elements(array.slice(1, 0, 64, 2), array.slice(1, 1, 64, 2)));
  EXPECT_TRUE(share_elements(left, array.slice(1, 31, 64)));
  EXPECT_FALSE(share_elements(left, Buffer<float>(test::device(), {2000, 64})));
}

}  // namespace
}  // namespace samite::test
