// Functions that consist of several operations, and functions of bits, as a kernel computes them.

#include "samite/samite.h"
#include "tests/runtime/test_device.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <vector>

namespace samite {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();

// The results of `function` for each number, in instances that run together in lanes.
template <class R, class T, class F>
std::vector<R> results(const std::vector<T> &numbers, const F &function) {
  Kernel kernel{"function", [&](Array<R, 1> out, Array<const T, 1> in) {
                  Int i = thread_index();
                  out(i) = function(Traced<T>(in(i)));
                }};
  const auto n = static_cast<std::int64_t>(numbers.size());
  Buffer<T> in(test::device(), {n}, numbers);
  Buffer<R> out(test::device(), {n});
  kernel.launch({n}, out, in);
  return out.to_vector();
}

const std::vector<float> numbers{-infinity, -2.5f, -1e-40f, -0.0f, 0.0f, 1e-40f, 3.0f, infinity, nan};

TEST(Functions, SignIsZeroAtZero) {
  const auto signs = results<float>(numbers, [](Float x) { return sign(x); });
  EXPECT_EQ(std::vector<float>(signs.begin(), signs.end() - 1), (std::vector<float>{-1, -1, -1, 0, 0, 1, 1, 1}));
  EXPECT_TRUE(std::signbit(signs[3]));
  EXPECT_TRUE(std::isnan(signs.back()));
  EXPECT_EQ(results<int>(std::vector<int>{-7, 0, 9}, [](Int x) { return sign(x); }), (std::vector<int>{-1, 0, 1}));
  EXPECT_EQ(results<std::uint8_t>(std::vector<std::uint8_t>{0, 200}, [](UInt8 x) { return sign(x); }),
            (std::vector<std::uint8_t>{0, 1}));
}

TEST(Functions, KindsOfNumbers) {
  const auto kinds = results<int>(
      numbers, [](Float x) { return select(isnan(x), 1, 0) + select(isinf(x), 2, 0) + select(isfinite(x), 4, 0); });
  EXPECT_EQ(kinds, (std::vector<int>{2, 4, 4, 4, 4, 4, 4, 2, 1}));
  EXPECT_EQ(results<int>(std::vector<half>{half(65504.0f), half(1e9f)}, [](Half x) { return select(isinf(x), 1, 0); }),
            (std::vector<int>{0, 1}));
}

template <class T>
void expect_counts_of_bits() {
  using Unsigned = std::make_unsigned_t<T>;
  std::vector<T> bits{0, 1, 2, 5, static_cast<T>(-1), std::numeric_limits<T>::min(), std::numeric_limits<T>::max()};
  for (int shift = 0; shift < static_cast<int>(8 * sizeof(T)); ++shift)
    bits.push_back(static_cast<T>(Unsigned{1} << shift)), bits.push_back(static_cast<T>(Unsigned{3} << shift));
  const auto set = results<int>(bits, [](Traced<T> x) { return popcount(x); });
  const auto leading = results<int>(bits, [](Traced<T> x) { return clz(x); });
  const auto trailing = results<int>(bits, [](Traced<T> x) { return ctz(x); });
  for (std::size_t i = 0; i < bits.size(); ++i) {
    EXPECT_EQ(set[i], std::popcount(static_cast<Unsigned>(bits[i]))) << +bits[i];
    EXPECT_EQ(leading[i], std::countl_zero(static_cast<Unsigned>(bits[i]))) << +bits[i];
    EXPECT_EQ(trailing[i], std::countr_zero(static_cast<Unsigned>(bits[i]))) << +bits[i];
  }
}
TEST(Functions, CountsOfBits) {
  expect_counts_of_bits<std::int8_t>();
  expect_counts_of_bits<std::uint16_t>();
  expect_counts_of_bits<std::int32_t>();
  expect_counts_of_bits<std::uint32_t>();
  expect_counts_of_bits<std::int64_t>();
  expect_counts_of_bits<std::uint64_t>();
}

TEST(Functions, BitCastsKeepEachBit) {
  const auto bits = results<std::uint32_t>(numbers, [](Float x) { return bit_cast<UInt>(x); });
  for (std::size_t i = 0; i < bits.size(); ++i) EXPECT_EQ(bits[i], std::bit_cast<std::uint32_t>(numbers[i]));
  const std::vector<std::int64_t> words{0, 1, std::bit_cast<std::int64_t>(-0.1)};
  const auto doubles = results<double>(words, [](Int64 x) { return bit_cast<Double>(x); });
  for (std::size_t i = 0; i < words.size(); ++i) EXPECT_EQ(std::bit_cast<std::int64_t>(doubles[i]), words[i]);
}

TEST(Functions, FusedMultiplyAddRoundsOnce) {
  const double x = 1 + 0x1p-30;
  const auto fused = results<double>(std::vector<double>{x, 1, 2}, [](Double a) { return fma(a, a, -1); });
  EXPECT_EQ(fused[0], 0x1p-29 + 0x1p-60);
}

TEST(Functions, BetweenTwoNumbers) {
  const std::vector<double> at{-1, 0, 0.25, 0.5, 1, 2};
  EXPECT_EQ(results<double>(at, [](Double t) { return lerp(2, 4, t); }), (std::vector<double>{0, 2, 2.5, 3, 4, 6}));
  EXPECT_EQ(results<double>(at, [](Double t) { return smoothstep(0, 1, t); }),
            (std::vector<double>{0, 0, 0.15625, 0.5, 1, 1}));
  const auto both = results<double>(at, [](Double x) {
    auto [sine, cosine] = sincos(x);
    return sine + 2 * cosine;
  });
  for (std::size_t i = 0; i < at.size(); ++i) EXPECT_NEAR(both[i], std::sin(at[i]) + 2 * std::cos(at[i]), 1e-15);
}

}  // namespace
}  // namespace samite
