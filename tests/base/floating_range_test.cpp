// The ranges of floating types, compared with conversions to them.
#include "samite/base/floating_range.h"

#include "samite/base/float8.h"
#include "samite/base/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace samite {
namespace {

// Whether the number becomes infinite when rounded to T.
template <class T>
bool becomes_infinite(double value) {
  return std::isinf(static_cast<float>(static_cast<T>(value)));
}

template <class T>
void expect_range(ScalarType type) {
  const FloatingRange range = floating_range(type);
  const double below = std::nextafter(range.infinite, 0);
  EXPECT_EQ(static_cast<double>(static_cast<T>(below)), range.largest);
  EXPECT_FALSE(becomes_infinite<T>(below));
  EXPECT_TRUE(becomes_infinite<T>(range.infinite));
  EXPECT_EQ(static_cast<double>(static_cast<T>(range.least)), range.least);
  EXPECT_EQ(static_cast<double>(static_cast<T>(range.least / 2)), 0);
  EXPECT_FALSE(is_too_large(type, -below));
  EXPECT_TRUE(is_too_large(type, -range.infinite));
  EXPECT_FALSE(is_too_large(type, -std::numeric_limits<double>::infinity()));
  EXPECT_FALSE(is_too_large(type, std::nan("")));
}

TEST(FloatingRange, IsThatOfConversions) {
  expect_range<float>(ScalarType::Float32);
  expect_range<half>(ScalarType::Float16);
  expect_range<bfloat16>(ScalarType::BFloat16);
  EXPECT_EQ(floating_range(ScalarType::Float32).largest, double{std::numeric_limits<float>::max()});
  EXPECT_FALSE(is_too_large(ScalarType::Float64, std::numeric_limits<double>::max()));
}

// Conversions to 8 bits saturate: their largest number is that of the specification.
TEST(FloatingRange, OfEightBitsEndsWhereConversionsSaturate) {
  EXPECT_EQ(floating_range(ScalarType::Float8E4M3).largest, 448);
  EXPECT_EQ(floating_range(ScalarType::Float8E5M2).largest, 57344);
  EXPECT_EQ(floating_range(ScalarType::Float8E4M3).least, double{f8e4m3::from_bits(1)});
  EXPECT_EQ(floating_range(ScalarType::Float8E5M2).least, double{f8e5m2::from_bits(1)});
  EXPECT_TRUE(is_too_large(ScalarType::Float8E4M3, 464));
  EXPECT_TRUE(is_too_large(ScalarType::Float8E4M3, std::numeric_limits<double>::infinity()));
  EXPECT_FALSE(is_too_large(ScalarType::Float8E5M2, std::numeric_limits<double>::infinity()));
  EXPECT_FALSE(is_too_large(ScalarType::Float8E5M2, 61439));
}

}  // namespace
}  // namespace samite
