// Integers wrap around, whatever the source of a value: an element of each instance, one that all instances share, a
// scalar argument, a constant. A compiler that assumes no signed overflow would fold `x + 1 > x`, and widen a sum
// before it wraps.
#include "samite/samite.h"
#include "tests/jit/on_device.h"

#include <gtest/gtest.h>

#include <array>
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

namespace samite::test {
namespace {

using on_device::device;

// Results of C++ modulo 2^64 are also right modulo 2^8 to 2^32.
template <class T>
T wrapped(std::uint64_t bits) {
  return static_cast<T>(bits);
}
template <class T>
std::uint64_t bits_of(T x) {
  return static_cast<std::uint64_t>(x);
}

constexpr int results = 20;

// Sums, products and their comparisons, quotients and conversions to wider types.
template <class T>
std::array<Traced<std::int64_t>, results> traced_results(const Traced<T> &x, const Traced<T> &y) {
  const auto wide = [](const auto &value) { return cast<Int64>(value); };
  const auto truth = [](const Bool &condition) { return select(condition, Int64(1), Int64(0)); };
  Traced<T> counted = x;
  Int64 steps = 0;
  while_([&] { return counted > 0 && steps < 5; },
         [&] {
           counted += y;
           steps += 1;
         });
  return {wide(x + y),
          wide(x - y),
          wide(x * y),
          wide(-x),
          wide(abs(x)),
          wide(x / y),
          wide(x % y),
          wide(x << y),
          wide(x >> y),
          wide((x + y) / 2),
          wide(x * x + y * y),
          truth(x + 1 > x),
          truth(x - 1 < x),
          truth(x + y > x),
          truth(x * 2 / 2 == x),
          truth(-x < 0),
          truth(abs(x) >= 0),
          truth((x + y) - y == x),
          steps,
          wide(counted)};
}

template <class T>
T quotient(T x, T y) {
  if (y == 0) return 0;
  return std::is_signed_v<T> && y == static_cast<T>(-1) ? wrapped<T>(0 - bits_of(x)) : static_cast<T>(x / y);
}

template <class T>
std::array<std::int64_t, results> expected_results(T x, T y) {
  const auto add = [](T a, T b) { return wrapped<T>(bits_of(a) + bits_of(b)); };
  const auto subtract = [](T a, T b) { return wrapped<T>(bits_of(a) - bits_of(b)); };
  const auto multiply = [](T a, T b) { return wrapped<T>(bits_of(a) * bits_of(b)); };
  const T minus = subtract(0, x), absolute = std::is_signed_v<T> && x < 0 ? minus : x, two = 2, one = 1;
  const auto distance = bits_of(y) & (8 * sizeof(T) - 1);
  const auto wide = [](T value) { return static_cast<std::int64_t>(value); };
  T counted = x;
  std::int64_t steps = 0;
  for (; counted > 0 && steps < 5; ++steps) counted = add(counted, y);
  return {wide(add(x, y)),
          wide(subtract(x, y)),
          wide(multiply(x, y)),
          wide(minus),
          wide(absolute),
          wide(quotient(x, y)),
          wide(subtract(x, multiply(quotient(x, y), y))),
          wide(wrapped<T>(bits_of(x) << distance)),
          wide(static_cast<T>(x >> distance)),
          wide(quotient(add(x, y), two)),
          wide(add(multiply(x, x), multiply(y, y))),
          add(x, one) > x,
          subtract(x, one) < x,
          add(x, y) > x,
          quotient(multiply(x, two), two) == x,
          minus < 0,
          absolute >= 0,
          true,
          steps,
          wide(counted)};
}

template <class T>
std::vector<std::pair<T, T>> operands() {
  using Limits = std::numeric_limits<T>;
  const std::vector<T> corners = {Limits::min(),
                                  static_cast<T>(Limits::min() + 1),
                                  static_cast<T>(-1),
                                  T{0},
                                  T{1},
                                  T{2},
                                  T{37},
                                  T{73},
                                  static_cast<T>(Limits::max() / 2 + 1),
                                  static_cast<T>(Limits::max() - 1),
                                  Limits::max()};
  std::vector<std::pair<T, T>> pairs;
  for (const T x : corners)
    for (const T y : corners) pairs.emplace_back(x, y);
  return pairs;
}

constexpr std::int64_t instances = 35;  // whole vectors and a part of one

template <class T>
void expect_results(const Buffer<std::int64_t> &out, const std::vector<std::pair<T, T>> &of, const char *what) {
  const std::vector<std::int64_t> all = out.to_vector();
  const auto count = static_cast<std::size_t>(out.extents()[1]);
  for (std::size_t i = 0; i < count; ++i) {
    const auto [x, y] = of.size() == 1 ? of[0] : of[i];
    const auto expected = expected_results(x, y);
    for (std::size_t k = 0; k < results; ++k)
      ASSERT_EQ(all[k * count + i], expected[k])
          << "result " << k << " of " << +x << " and " << +y << ", " << what << ", instance " << i;
  }
}

template <class T>
class IntegerOverflow : public testing::Test {};

using Integers = testing::Types<std::int8_t, std::int16_t, std::int32_t, std::int64_t, std::uint8_t, std::uint16_t,
                                std::uint32_t, std::uint64_t>;
TYPED_TEST_SUITE(IntegerOverflow, Integers);

using Out = Array<std::int64_t, 2>;

template <class T>
void store(const Out &out, const Int &i, const Traced<T> &x, const Traced<T> &y) {
  const auto all = traced_results<T>(x, y);
  for (int k = 0; k < results; ++k) out(k, i) = all[static_cast<std::size_t>(k)];
}

TYPED_TEST(IntegerOverflow, WrapsWhereEachInstanceHasItsOwnValues) {
  using T = TypeParam;
  Kernel kernel{"varying", [](Out out, Array<const T, 1> x, Array<const T, 1> y) {
                  Int i = thread_index();
                  store<T>(out, i, x(i), y(i));
                }};
  const auto pairs = operands<T>();
  const auto count = static_cast<std::int64_t>(pairs.size());
  std::vector<T> x, y;
  for (const auto &[first, second] : pairs) x.push_back(first), y.push_back(second);
  Buffer<std::int64_t> out(device, {results, count});
  kernel.launch({count}, out, Buffer<T>(device, {count}, x), Buffer<T>(device, {count}, y));
  expect_results<T>(out, pairs, "varying");
}

TYPED_TEST(IntegerOverflow, WrapsWhereAllInstancesShareTheValues) {
  using T = TypeParam;
  Kernel arguments{"arguments", [](Out out, Traced<T> x, Traced<T> y) { store<T>(out, thread_index(), x, y); }};
  Kernel elements{"elements",
                  [](Out out, Array<const T, 1> x, Array<const T, 1> y) { store<T>(out, thread_index(), x(0), y(0)); }};
  for (const auto &[x, y] : operands<T>()) {
    Buffer<std::int64_t> out(device, {results, instances});
    arguments.launch({instances}, out, x, y);
    expect_results<T>(out, {{x, y}}, "arguments");
    elements.launch({instances}, out, Buffer<T>(device, {1}, {x}), Buffer<T>(device, {1}, {y}));
    expect_results<T>(out, {{x, y}}, "elements");
  }
}

TYPED_TEST(IntegerOverflow, WrapsWhereTheValuesAreConstant) {
  using T = TypeParam;
  using Limits = std::numeric_limits<T>;
  for (const auto &[x, y] : std::vector<std::pair<T, T>>{{Limits::max(), 1}, {Limits::min(), static_cast<T>(-1)}}) {
    Kernel kernel{"constant", [&](Out out) { store<T>(out, thread_index(), x, y); }};
    Buffer<std::int64_t> out(device, {results, instances});
    kernel.launch({instances}, out);
    expect_results<T>(out, {{x, y}}, "constant");
  }
}

// The values in a vector differ by one from lane to lane; some wrap and some do not.
TEST(IntegerOverflowInVectors, SomeLanesWrap) {
  Kernel kernel{"some_lanes", {"out", "k"}, [](Array<std::int64_t, 2> out, const Int &k) {
                  Int i = thread_index(), sum = i + k;
                  out(0, i) = cast<Int64>(sum);
                  out(1, i) = select(sum < i, Int64(1), Int64(0));
                  Int64 turns = 0;
                  for ([[maybe_unused]] Int j : range(sum, sum + 3)) turns += 1;
                  out(2, i) = turns;
                  out(3, i) = cast<Int64>(sum + 1) - cast<Int64>(sum);
                }};
  constexpr std::int32_t most = std::numeric_limits<std::int32_t>::max();
  for (const std::int32_t k : {most - 20, most - 5, most - 1, most, -5, std::numeric_limits<std::int32_t>::min()}) {
    Buffer<std::int64_t> out(device, {4, instances});
    kernel.launch({instances}, out, k);
    const auto all = out.to_vector();
    for (std::int64_t i = 0; i < instances; ++i) {
      const auto sum = [&](std::int64_t by) { return static_cast<std::int32_t>(std::int64_t{k} + i + by); };
      const auto at = [&](std::int64_t row) { return all[static_cast<std::size_t>(row * instances + i)]; };
      EXPECT_EQ(at(0), sum(0)) << k << " + " << i;
      EXPECT_EQ(at(1), sum(0) < i) << k << " + " << i;
      EXPECT_EQ(at(2), sum(0) < sum(3) ? 3 : 0) << k << " + " << i;
      EXPECT_EQ(at(3), std::int64_t{sum(1)} - sum(0)) << k << " + " << i;
    }
  }
}

// An index may wrap on the way to an element of its array: 641 * 6700417 is 2^32 + 1.
TEST(IntegerOverflowInIndices, WrapsOnTheWayToAnElement) {
  Kernel kernel{
      "gathered", {"out", "x", "k", "m"}, [](Array<float, 2> out, Array<const float, 1> x, const Int &k, const Int &m) {
        Int i = thread_index();
        out(0, i) = x(i * 65536 * 65536 + 3);
        out(1, i) = x(i + k - k);
        out(2, i) = x(k * m + i);
        out(3, i) = x(k * m + 2);
        Float sum = 0;
        for (Int j : range(4)) sum += x(k * m + j + 5);
        out(4, i) = sum;
        out(5, i) = x(m * k + m * k + i - 2);
      }};
  std::vector<float> numbers;
  for (int i = 0; i < 64; ++i) numbers.push_back(static_cast<float>(i));
  Buffer<float> out(device, {6, instances});
  kernel.launch({instances}, out, Buffer<float>(device, {64}, numbers), 641, 6700417);
  const std::vector<float> all = out.to_vector();
  for (int i = 0; i < instances; ++i) {
    const std::vector<int> expected = {3, i, i + 1, 3, 6 + 7 + 8 + 9, i};
    for (std::size_t k = 0; k < expected.size(); ++k)
      EXPECT_EQ(all[k * instances + static_cast<std::size_t>(i)], static_cast<float>(expected[k]))
          << "row " << k << ", instance " << i;
  }
}

// All instances add to one element, in each iteration of a loop: steps of 2^32 elements wrap to zero.
TEST(IntegerOverflowInIndices, WrapsInTheStepsOfALoop) {
  Kernel kernel{"added", {"sum", "x"}, [](Array<float, 1> sum, Array<const float, 1> x) {
                  Int i = thread_index();
                  for (Int k : range(4)) atomic_add(sum(k * 65536 * 65536 + 1), x(i) * cast<Float>(k));
                }};
  std::vector<float> numbers;
  for (int i = 0; i < instances; ++i) numbers.push_back(static_cast<float>(i));
  Buffer<float> sum(device, {3});
  kernel.launch({instances}, sum, Buffer<float>(device, {instances}, numbers));
  EXPECT_EQ(sum.to_vector(), (std::vector<float>{0, 6 * 34 * 35 / 2, 0}));
}

TEST(IntegerOverflowInTiles, WrapsInElementsSumsProductsAndScans) {
  constexpr std::int64_t n = 37;
  TileKernel kernel{"tile_overflow",
                    {"elements", "scans", "whole", "x"},
                    [](Array<std::int32_t, 1> elements, Array<std::int32_t, 1> scans, Array<std::int32_t, 1> whole,
                       Array<const std::int32_t, 1> x) {
                      Tile<std::int32_t> a = tile::load(x, {0}, {n});
                      tile::store(elements, {0}, select(a + 1 > a, a * a, -a));
                      tile::store(scans, {0}, tile::inclusive_scan(a, 0));
                      tile::store(whole, {0}, tile::concatenate(tile::sum(a, {0}), tile::product(a, {0}), 0));
                    }};
  std::vector<std::int32_t> x;
  for (std::int32_t i = 0; i < n; ++i)
    x.push_back(i % 5 == 4 ? std::numeric_limits<std::int32_t>::max() : 2 * i * 58111 + 1);
  Buffer<std::int32_t> elements(device, {n}), scans(device, {n}), whole(device, {2});
  kernel.launch({1}, elements, scans, whole, Buffer<std::int32_t>(device, {n}, x));
  std::uint32_t sum = 0, product = 1;
  for (std::size_t i = 0; i < x.size(); ++i) {
    const auto bits = static_cast<std::uint32_t>(x[i]);
    sum += bits;
    product *= bits;
    const bool most = x[i] == std::numeric_limits<std::int32_t>::max();
    EXPECT_EQ(elements.to_vector()[i], static_cast<std::int32_t>(most ? 0 - bits : bits * bits)) << i;
    EXPECT_EQ(scans.to_vector()[i], static_cast<std::int32_t>(sum)) << i;
  }
  EXPECT_EQ(whole.to_vector(),
            (std::vector<std::int32_t>{static_cast<std::int32_t>(sum), static_cast<std::int32_t>(product)}));
}

}  // namespace
}  // namespace samite::test
