// The 8-bit floating types of the host, against their definition: the nearest representable number.
#include "samite/base/float8.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

namespace samite {
namespace {

// Sign, exponent, fraction. In e4m3 only the last code is NaN; in e5m2 the last exponent is for infinity and NaNs.
double value_of(unsigned bits, int fraction_bits, int bias) {
  const unsigned exponent = (bits & 127) >> fraction_bits, fraction = bits & ((1u << fraction_bits) - 1);
  if (fraction_bits == 3 ? (bits & 127) == 127 : exponent == 31 && fraction != 0) return NAN;
  const double sign = bits >> 7 ? -1 : 1;
  if (fraction_bits == 2 && exponent == 31) return sign * HUGE_VAL;
  return sign * (exponent == 0
                     ? std::ldexp(fraction, 1 - bias - fraction_bits)
                     : std::ldexp(fraction + (1u << fraction_bits), static_cast<int>(exponent) - bias - fraction_bits));
}

template <class T>
void expect_values(int fraction_bits, int bias) {
  for (unsigned bits = 0; bits < 256; ++bits) {
    const float value = T::from_bits(static_cast<std::uint8_t>(bits));
    const double expected = value_of(bits, fraction_bits, bias);
    if (std::isnan(expected)) {
      EXPECT_TRUE(std::isnan(value)) << bits;
      EXPECT_TRUE(std::isnan(static_cast<float>(T(value)))) << bits;
      continue;
    }
    EXPECT_EQ(value, expected) << bits;
    if (std::isinf(value)) continue;
    EXPECT_EQ(T(value).bits(), bits) << "what is converted back is the same";
  }
}

TEST(Float8, ValuesAreThoseOfTheFormat) {
  expect_values<f8e4m3>(3, 7);
  expect_values<f8e5m2>(2, 15);
}

// Table 2 of the specification.
TEST(Float8, EndsOfTheRange) {
  EXPECT_EQ(static_cast<float>(f8e4m3::from_bits(0x7e)), 448);
  EXPECT_EQ(static_cast<float>(f8e4m3::from_bits(0x08)), std::ldexp(1.0f, -6));
  EXPECT_EQ(static_cast<float>(f8e4m3::from_bits(0x01)), std::ldexp(1.0f, -9));
  EXPECT_EQ(static_cast<float>(f8e5m2::from_bits(0x7b)), 57344);
  EXPECT_EQ(static_cast<float>(f8e5m2::from_bits(0x04)), std::ldexp(1.0f, -14));
  EXPECT_EQ(static_cast<float>(f8e5m2::from_bits(0x01)), std::ldexp(1.0f, -16));
  EXPECT_EQ(static_cast<float>(f8e5m2::from_bits(0xfc)), -HUGE_VALF);
  EXPECT_EQ(static_cast<float>(std::numeric_limits<f8e4m3>::max()), 448);
  EXPECT_EQ(static_cast<float>(std::numeric_limits<f8e5m2>::lowest()), -57344);
}

// No finite number is closer, and of two equally close ones the even one is taken.
template <class T>
void expect_nearest(double x) {
  const T rounded(x);
  const double value = static_cast<float>(rounded);
  ASSERT_TRUE(std::isfinite(value)) << x;
  EXPECT_EQ(std::signbit(value), std::signbit(x)) << x;
  for (unsigned bits = 0; bits < 256; ++bits) {
    const double other = static_cast<float>(T::from_bits(static_cast<std::uint8_t>(bits)));
    if (!std::isfinite(other) || other == value) continue;
    const long double distance = std::fabs(static_cast<long double>(value) - x);
    const long double others = std::fabs(static_cast<long double>(other) - x);
    EXPECT_TRUE(distance < others || (distance == others && rounded.bits() % 2 == 0)) << x << " to " << value;
  }
}

template <class T>
void expect_rounding(unsigned seed) {
  std::mt19937_64 random(seed);
  for (unsigned bits = 0; bits < 127; ++bits) {
    const double a = static_cast<float>(T::from_bits(static_cast<std::uint8_t>(bits)));
    const double b = static_cast<float>(T::from_bits(static_cast<std::uint8_t>(bits + 1)));
    if (!std::isfinite(a) || !std::isfinite(b)) continue;
    const double tie = (a + b) / 2;
    for (double x : {a, tie, std::nextafter(tie, 0), std::nextafter(tie, 1e9), std::nextafter(b, 0)}) {
      expect_nearest<T>(x);
      expect_nearest<T>(-x);
    }
  }
  for (int i = 0; i < 2000; ++i)
    expect_nearest<T>(std::ldexp(static_cast<double>(random()) / 1e19, static_cast<int>(random() % 40) - 25));
}

TEST(Float8, ConversionIsToTheNearest) {
  expect_rounding<f8e4m3>(1);
  expect_rounding<f8e5m2>(2);
}

TEST(Float8, WhatIsTooLargeIsTheLargest) {
  for (double x : {449.0, 463.9, 464.0, 465.0, 1e30, HUGE_VAL}) {
    EXPECT_EQ(f8e4m3(x).bits(), 0x7e) << x;
    EXPECT_EQ(f8e4m3(-x).bits(), 0xfe) << x;
  }
  for (double x : {57345.0, 61439.0, 61440.0, 65536.0, 1e300, HUGE_VAL}) EXPECT_EQ(f8e5m2(x).bits(), 0x7b) << x;
  EXPECT_EQ(f8e5m2(std::numeric_limits<std::int64_t>::min()).bits(), 0xfb);
  EXPECT_TRUE(std::isnan(static_cast<float>(f8e4m3(NAN))));
  EXPECT_TRUE(std::isnan(static_cast<float>(f8e5m2(-NAN))));
}

}  // namespace
}  // namespace samite
