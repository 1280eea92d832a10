// Quantised matrices represent their originals to half a digit, with each kind of scales.
#include "samite/ops/quantise.h"
#include "tests/tiles/reference.h"

#include <gmock/gmock.h>

namespace samite::test {
namespace {

using testing::HasSubstr;

// The largest absolute value of the numbers that share scale (i, j).
double largest_of(const Matrix &x, const Extents &scales, std::int64_t i, std::int64_t j) {
  const auto range = [](std::int64_t count, std::int64_t groups, std::int64_t at) {
    if (groups == 1) return std::pair{std::int64_t{0}, count};
    if (groups == count) return std::pair{at, at + 1};
    return std::pair{at * 128, std::min(count, at * 128 + 128)};
  };
  const auto [top, bottom] = range(x.rows, scales[0], i);
  const auto [left, right] = range(x.columns, scales[1], j);
  double largest = 0;
  for (std::int64_t r = top; r < bottom; ++r)
    for (std::int64_t c = left; c < right; ++c) largest = std::max(largest, std::abs(x(r, c)));
  return largest;
}

template <class T, class Q>
void check_quantise(const Extents &scales, std::int64_t rows, std::int64_t columns, double limit, double digit) {
  SCOPED_TRACE(scales.to_string());
  const Matrix plain(rows, columns, 1);
  const Matrix x(rows, columns, [&](std::int64_t i, std::int64_t j) {
    return i % 11 == 3 ? 0 : plain(i, j) * std::exp2(static_cast<double>((i * 3 + j / 50) % 5));
  });
  const auto values = buffer<T>(x.extents(), x.values);
  Buffer<Q> q(device(), x.extents());
  auto scale = poisoned<float>(scales);
  ops::quantise(values, q, scale);
  for (std::int64_t i = 0; i < scales[0]; ++i)
    for (std::int64_t j = 0; j < scales[1]; ++j) {
      const double largest = largest_of(x, scales, i, j);
      EXPECT_NEAR(scale.at(i, j), largest > 0 ? largest / limit : 1, 1e-6 * largest) << i << " " << j;
    }
  auto back = poisoned<float>(x.extents());
  ops::dequantise(q, scale, back);
  const auto result = back.to_vector();
  const auto least = *std::max_element(x.values.begin(), x.values.end()) / limit;  // of a unit in the last place
  for (std::size_t k = 0; k < result.size(); ++k)
    ASSERT_NEAR(result[k], x.values[k], digit * std::abs(x.values[k]) + least) << k;
}

TEST(Quantise, EachKindOfScales) {
  const std::int64_t rows = 150, columns = 300;
  for (const Extents &scales : {Extents{1, 1}, {rows, 1}, {1, columns}, {rows, 3}, {2, columns}, {2, 3}})
    check_quantise<float, f8e4m3>(scales, rows, columns, 448, 1.0 / 16);
}

// One scale along a dimension of up to 128 numbers, with several blocks along the other one.
TEST(Quantise, BlocksOfANarrowMatrix) {
  check_quantise<float, f8e4m3>({2, 1}, 255, 7, 448, 1.0 / 16);
  check_quantise<float, f8e4m3>({1, 3}, 100, 300, 448, 1.0 / 16);
  const Buffer<float> x(device(), {255, 300}), scale(device(), {2, 1});
  const Buffer<f8e4m3> q(device(), {255, 300});
  EXPECT_THAT(message_of<UserError>([&] { ops::quantise(x, q, scale); }),
              HasSubstr("all 300 along the other; expected (2, 3), one for a block of 128 by 128"));
}

TEST(Quantise, Types) {
  check_quantise<half, f8e4m3>({40, 1}, 40, 30, 448, 1.0 / 16);
  check_quantise<bfloat16, f8e5m2>({40, 1}, 40, 30, 57344, 1.0 / 8);
  check_quantise<float, f8e5m2>({1, 1}, 40, 30, 57344, 1.0 / 8);
}

TEST(Quantise, OneElementAndOneRow) {
  check_quantise<float, f8e4m3>({1, 1}, 1, 1, 448, 1.0 / 16);
  check_quantise<float, f8e4m3>({1, 2}, 1, 200, 448, 1.0 / 16);
  check_quantise<float, f8e4m3>({2, 1}, 200, 1, 448, 1.0 / 16);
}

TEST(Quantise, NaNStaysAndInfinityIsOnesOwn) {
  const float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
  const Buffer<float> x(device(), {3, 2}, {nan, 2, infinity, 1, 0, 0});
  Buffer<f8e4m3> q(device(), {3, 2});
  Buffer<float> scale(device(), {3, 1});
  ops::quantise(x, q, scale);
  EXPECT_TRUE(std::isnan(static_cast<float>(q.at(0, 0))));
  EXPECT_EQ(static_cast<float>(q.at(0, 1)), 448);
  EXPECT_FLOAT_EQ(scale.at(0, 0), 2.0f / 448);
  EXPECT_EQ(scale.at(1, 0), infinity);
  EXPECT_TRUE(std::isnan(static_cast<float>(q.at(1, 0))));
  EXPECT_EQ(static_cast<float>(q.at(1, 1)), 0);
  EXPECT_EQ(scale.at(2, 0), 1);
}

// Numbers so small that their scale would have no digits left, down to the least number of the type.
template <class T, class Q>
void check_small_numbers(const Extents &scales, double digit) {
  SCOPED_TRACE(scales.to_string());
  const double least_scale = std::numeric_limits<float>::min();
  const double smallest = static_cast<double>(static_cast<float>(std::numeric_limits<T>::denorm_min()));
  for (const double largest : {smallest, 3 * smallest, 1e4 * smallest, 1e-37, 1e-33}) {
    const Matrix x(2, 300, [&](std::int64_t i, std::int64_t j) { return j % 3 == i ? 0 : j % 2 == 0 ? largest : 0; });
    const auto values = buffer<T>(x.extents(), x.values);
    Buffer<Q> q(device(), x.extents());
    const auto scale = poisoned<float>(scales), back = poisoned<float>(x.extents());
    ops::quantise(values, q, scale);
    ops::dequantise(q, scale, back);
    for (const float one : scale.to_vector()) EXPECT_GE(one, least_scale);
    const std::vector<T> stored = values.to_vector();
    const std::vector<float> result = back.to_vector();
    const double step = least_scale * static_cast<double>(static_cast<float>(std::numeric_limits<Q>::denorm_min()));
    for (std::size_t k = 0; k < result.size(); ++k) {
      const double exact = static_cast<double>(static_cast<float>(stored[k]));
      if (exact == 0)
        ASSERT_EQ(result[k], 0.0f) << k;
      else
        ASSERT_NEAR(result[k], exact, std::max(digit * exact, step / 2)) << largest << ' ' << k;
    }
  }
}

TEST(Quantise, WhatIsTooSmallForAScaleOfItsOwn) {
  for (const Extents &scales : {Extents{1, 1}, {2, 1}, {1, 300}, {2, 3}, {1, 3}})
    check_small_numbers<float, f8e4m3>(scales, 1.0 / 16);
  check_small_numbers<half, f8e4m3>({2, 1}, 1.0 / 16);
  check_small_numbers<bfloat16, f8e4m3>({2, 1}, 1.0 / 16);
  check_small_numbers<float, f8e5m2>({2, 1}, 1.0 / 8);
}

TEST(Quantise, AMatrixOfNothing) {
  const Buffer<float> x(device(), {0, 4}), scale(device(), {1, 1});
  EXPECT_NO_THROW(ops::quantise(x, Buffer<f8e4m3>(device(), {0, 4}), scale));
}

TEST(Quantise, NamesWhatDoesNotFit) {
  const Buffer<float> x(device(), {3, 4});
  const Buffer<float> scale(device(), {3, 1});
  EXPECT_THAT(message_of<UserError>([&] { ops::quantise(x, Buffer<f8e4m3>(device(), {4, 3}), scale); }),
              HasSubstr("quantise: expected two matrices of the same extents"));
  EXPECT_THAT(message_of<UserError>(
                  [&] { ops::quantise(x, Buffer<f8e4m3>(device(), {3, 4}), Buffer<float>(device(), {2, 2})); }),
              HasSubstr("quantise: the scale has extents (2, 2); a matrix of 3 by 4 has scales of"));
}

}  // namespace
}  // namespace samite::test
