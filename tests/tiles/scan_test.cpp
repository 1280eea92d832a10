// Scans along each dimension compared with hand-written sums.
#include "tests/tiles/tile_function.h"

namespace samite::test {
namespace {

using testing::HasSubstr;
using tile::Combine;

struct Extents3 {
  std::int64_t outer, extent, inner;  // of the dimension that is scanned
  std::int64_t count() const { return outer * extent * inner; }
};

double combined(Combine combine, double a, double b) {
  switch (combine) {
    case Combine::product: return a * b;
    case Combine::min: return std::fmin(a, b);
    case Combine::max: return std::fmax(a, b);
    default: return a + b;
  }
}

double neutral(Combine combine) {
  const double infinity = std::numeric_limits<double>::infinity();
  switch (combine) {
    case Combine::product: return 1;
    case Combine::min: return infinity;
    case Combine::max: return -infinity;
    default: return 0;
  }
}

std::vector<double> scanned(const std::vector<double> &x, Extents3 e, tile::ScanOptions options, bool exclusive) {
  std::vector<double> y(x.size());
  for (std::int64_t o = 0; o < e.outer; ++o)
    for (std::int64_t n = 0; n < e.inner; ++n) {
      double before = neutral(options.combine);
      for (std::int64_t i = 0; i < e.extent; ++i) {
        const std::int64_t along = options.backwards ? e.extent - 1 - i : i;
        const auto at = static_cast<std::size_t>((o * e.extent + along) * e.inner + n);
        const double with = combined(options.combine, before, x[at]);
        y[at] = exclusive ? before : with;
        before = with;
      }
    }
  return y;
}

auto scan_along_the_middle(Extents3 e, tile::ScanOptions options, bool exclusive) {
  return [=](auto x) {
    auto t = tile::reshape(x, {e.outer, e.extent, e.inner});
    return exclusive ? tile::exclusive_scan(t, 1, options) : tile::inclusive_scan(t, 1, options);
  };
}

// Neither equal, so that there is a derivative, nor far from 1.
std::vector<double> different(std::int64_t count) {
  std::vector<double> x;
  for (std::int64_t i = 0; i < count; ++i) x.push_back(1 + 0.5 * std::sin(static_cast<double>(7 * i + 1)));
  return x;
}

constexpr Extents3 shapes[] = {{1, 1, 1}, {1, 37, 1}, {3, 8, 1}, {2, 5, 3}, {1, 6, 17}};

TEST(TileScan, EveryKindAlongEveryDimension) {
  for (const Extents3 e : shapes)
    for (const Combine combine : {Combine::sum, Combine::product, Combine::min, Combine::max})
      for (const bool backwards : {false, true}) {
        SCOPED_TRACE(testing::Message() << e.outer << ' ' << e.extent << ' ' << e.inner << ' '
                                        << static_cast<int>(combine) << backwards);
        const std::vector<double> x = different(e.count());
        const auto expect = [&](bool exclusive) {
          expect_values(scan_along_the_middle(e, {combine, backwards}, exclusive), x,
                        scanned(x, e, {combine, backwards}, exclusive), 1e-12);
        };
        expect(false), expect(true);
      }
}

TEST(TileScan, Derivatives) {
  constexpr Extents3 e{2, 5, 3};
  for (const Combine combine : {Combine::sum, Combine::product, Combine::min, Combine::max})
    for (const bool backwards : {false, true}) {
      SCOPED_TRACE(testing::Message() << static_cast<int>(combine) << backwards);
      expect_derivatives(scan_along_the_middle(e, {combine, backwards}, false), different(e.count()), e.count());
      // The first element is not a number if there is no least or greatest number.
      const auto exclusive = [=](Tile<double> x) {
        Tile<double> y = scan_along_the_middle(e, {combine, backwards}, true)(x);
        return select(abs(y) < 1e9, y, 0.0);
      };
      expect_derivatives(exclusive, different(e.count()), e.count());
    }
}

TEST(TileScan, ProductsOfZeros) {
  for (const bool exclusive : {false, true}) {
    std::vector<double> x = different(12);
    x[2] = x[9] = x[10] = 0;
    const Extents3 e{2, 6, 1};
    expect_function(scan_along_the_middle(e, {.combine = Combine::product}, exclusive), x,
                    scanned(x, e, {.combine = Combine::product}, exclusive));
  }
}

TEST(TileScan, FollowsTheFirstOfEqualElements) {
  auto x = buffer<double>({4}, {2, 5, 5, 3}, Gradient::tracked), y = poisoned<double>({4}, Gradient::tracked);
  Tape tape;
  tape.record([&] {
    tile_function<double>(4, [](auto t) {
      return tile::inclusive_scan(t, 0, {.combine = Combine::max});
    }).launch({1}, y, x);
  });
  tape.backward({{y, buffer<double>({4}, {1, 10, 100, 1000})}});
  expect_near(x.gradient(), {1, 1110, 0, 0}, 0);
}

TEST(TileScan, Types) {
  auto check = [](auto zero, double tolerance) {
    using T = decltype(zero);
    constexpr Extents3 e{2, 9, 3};
    for (const Combine combine : {Combine::sum, Combine::min, Combine::max}) {
      std::vector<double> x;
      for (int i = 0; i < e.count(); ++i) x.push_back((i * 5) % 7);
      expect_values<T>(scan_along_the_middle(e, {combine}, false), x, scanned(x, e, {combine}, false), tolerance);
    }
  };
  check(float{}, 0), check(double{}, 0), check(half{}, 0), check(bfloat16{}, 0);
  check(std::int8_t{}, 0), check(std::uint8_t{}, 0), check(std::int32_t{}, 0), check(std::int64_t{}, 0);
}

TEST(TileScan, ExclusiveOfIntegersBeginsBeyondAll) {
  expect_values<std::int32_t>([](auto x) { return tile::exclusive_scan(x, 0, {.combine = Combine::min}); }, {3, 1, 2},
                              {2147483647.0, 3, 1}, 0);
  expect_values<std::uint8_t>([](auto x) { return tile::exclusive_scan(x, 0, {.combine = Combine::max}); }, {3, 1, 2},
                              {0, 3, 3}, 0);
}

TEST(TileScan, LinearRecurrence) {
  for (const bool backwards : {false, true}) {
    constexpr std::int64_t rows = 3, columns = 7, count = rows * columns;
    std::vector<double> x = different(2 * count), expected(count);
    x[4] = 0;
    for (std::int64_t i = 0; i < rows; ++i) {
      double before = 0;
      for (std::int64_t j = 0; j < columns; ++j) {
        const auto at = static_cast<std::size_t>(i * columns + (backwards ? columns - 1 - j : j));
        before = x[at] * before + x[at + count];
        expected[at] = before;
      }
    }
    const auto recurrence = [=](Tile<double> both) {
      const auto part = [&](std::int64_t begin) {
        return tile::reshape(tile::slice(both, {begin}, {count}), {rows, columns});
      };
      return tile::linear_recurrence(part(0), part(count), 1, backwards);
    };
    expect_function(recurrence, x, expected);
  }
}

TEST(TileScanErrors, Dimension) {
  const std::string message = message_of<UserError>([] {
    TileKernel wrong{"wrong", [](Array<float, 2> x) { tile::inclusive_scan(tile::load(x, {0, 0}, {4, 8}), 2); }};
  });
  EXPECT_THAT(message, HasSubstr("along dimension 2 of a tile of extents 4x8"));
  EXPECT_THAT(message, HasSubstr("scan_test.cpp"));
}

TEST(TileScanErrors, RecurrenceOfOtherExtents) {
  const std::string message = message_of<UserError>([] {
    TileKernel wrong{"wrong", [](Array<float, 2> x) {
                       auto a = tile::load(x, {0, 0}, {4, 8});
                       tile::linear_recurrence(tile::sum(a, {1}), a, 1);
                     }};
  });
  EXPECT_THAT(message, HasSubstr("factors of extents 4x1"));
  EXPECT_THAT(message, HasSubstr("4x8"));
}

}  // namespace
}  // namespace samite::test
