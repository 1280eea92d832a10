// The 16-bit floating types of the host, against their definition: the nearest representable number.
#include "samite/base/half.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>

namespace samite {
namespace {

// The value of 16 bits: sign, exponent, fraction.
double value_of_half(std::uint16_t bits, int fraction_bits, int bias) {
  int exponent = (bits & 0x7fff) >> fraction_bits, fraction = bits & ((1 << fraction_bits) - 1);
  double magnitude = exponent == 0 ? std::ldexp(fraction, 1 - bias - fraction_bits)
                                   : std::ldexp(fraction + (1 << fraction_bits), exponent - bias - fraction_bits);
  return bits >> 15 ? -magnitude : magnitude;
}

template <class T>
void expect_values_of_half(int fraction_bits, int bias) {
  int special = (2 * bias + 1) << fraction_bits;
  for (int i = 0; i < 1 << 16; ++i) {
    auto bits = static_cast<std::uint16_t>(i);
    float value = T::from_bits(bits);
    if ((bits & 0x7fff) > special) {
      EXPECT_TRUE(std::isnan(value));
    } else if ((bits & 0x7fff) == special) {
      EXPECT_EQ(value, bits >> 15 ? -HUGE_VALF : HUGE_VALF);
    } else {
      ASSERT_EQ(value, value_of_half(bits, fraction_bits, bias)) << bits;
    }
    if (std::isnan(value)) continue;
    ASSERT_EQ(T(value).bits(), bits) << "what is converted back is the same";
  }
}

TEST(Half, ValuesAreThoseOfTheFormat) { expect_values_of_half<half>(10, 15); }
TEST(BFloat16, ValuesAreThoseOfTheFormat) { expect_values_of_half<bfloat16>(7, 127); }

// No neighbour is closer, and of two equally close ones the even one is taken.
template <class T>
void expect_nearest_half(double x) {
  T rounded(x);
  long double value = static_cast<float>(rounded), distance = std::fabs(value - x);  // exact in 64 bits
  if (std::isinf(value)) return;
  for (int step : {-1, 1}) {
    int magnitude = (rounded.bits() & 0x7fff) + step;
    if (magnitude < 0) continue;
    long double neighbour = static_cast<float>(T::from_bits(static_cast<std::uint16_t>(magnitude)));
    if (std::signbit(value)) neighbour = -neighbour;
    if (std::isinf(neighbour)) continue;
    long double other = std::fabs(neighbour - x);
    EXPECT_TRUE(distance < other || (distance == other && rounded.bits() % 2 == 0)) << x;
  }
}

template <class T>
void expect_nearest_everywhere(int lowest, int highest) {
  std::mt19937_64 random(1);
  std::uniform_real_distribution<double> fraction(1, 2);
  for (int i = 0; i < 20000; ++i) {
    double x = std::ldexp(fraction(random), lowest + static_cast<int>(random() % (highest - lowest)));
    expect_nearest_half<T>(x);
    expect_nearest_half<T>(-x);
    T a(x);  // ties: halfway to the next
    T next = T::from_bits(static_cast<std::uint16_t>(a.bits() + 1));
    if (!std::isfinite(static_cast<float>(next))) continue;
    double middle = (static_cast<double>(static_cast<float>(a)) + static_cast<float>(next)) / 2;
    expect_nearest_half<T>(middle);
    expect_nearest_half<T>(std::nextafter(middle, 1e300));  // rounded to float first, these would be ties, too
    expect_nearest_half<T>(std::nextafter(middle, 0));
  }
}

TEST(Half, RoundsOnceToTheNearest) { expect_nearest_everywhere<half>(-26, 16); }
TEST(BFloat16, RoundsOnceToTheNearest) { expect_nearest_everywhere<bfloat16>(-135, 127); }

TEST(Half, TooLargeIsInfinityAndTooSmallIsZero) {
  EXPECT_EQ(half(65519.99), 65504.f);
  EXPECT_EQ(half(65520), HUGE_VALF);
  EXPECT_EQ(half(-1e300), -HUGE_VALF);
  EXPECT_EQ(half(1e-300).bits(), 0);
  EXPECT_EQ(half(-1e-300).bits(), 0x8000);
  EXPECT_TRUE(std::isnan(half(std::nan(""))));
}

TEST(BFloat16, LongIntegersAreRoundedOnce) {
  const std::int64_t tie = (std::int64_t{1} << 62) + (std::int64_t{1} << 54);  // between two; one more is above it
  EXPECT_EQ(bfloat16(tie), std::ldexp(1.f, 62));
  EXPECT_EQ(bfloat16(tie + 1), std::ldexp(1.f, 62) + std::ldexp(1.f, 55));
  EXPECT_EQ(bfloat16(-tie - 1), -std::ldexp(1.f, 62) - std::ldexp(1.f, 55));
}

TEST(Half, LimitsAreThoseOfTheFormat) {
  EXPECT_EQ(std::numeric_limits<half>::max(), 65504.f);
  EXPECT_EQ(std::numeric_limits<half>::min(), std::ldexp(1.f, -14));
  EXPECT_EQ(std::numeric_limits<half>::denorm_min(), std::ldexp(1.f, -24));
  EXPECT_EQ(std::numeric_limits<half>::epsilon(), std::ldexp(1.f, -10));
  EXPECT_EQ(std::numeric_limits<bfloat16>::epsilon(), std::ldexp(1.f, -7));
  EXPECT_GT(std::numeric_limits<bfloat16>::max(), 3.38e38f);
}

}  // namespace
}  // namespace samite
