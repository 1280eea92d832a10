// The 16-bit floating types on the host: half (IEEE 754 binary16: 11 bits of precision, up to 65504) and bfloat16 (the
// upper half of a float: 8 bits of precision, a float's range).
//
// They only hold and convert numbers; arithmetic on them is done in float. Conversions to them round once, to nearest,
// ties to even; numbers that are too large become infinity. Conversions to float are exact. A NaN stays a NaN, with its
// sign and the upper bits of its payload.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace samite {

template <int exponent_bits, int fraction_bits>
class SmallFloat {
 public:
  SmallFloat() = default;
  template <class A>
    requires std::is_arithmetic_v<A>
  constexpr SmallFloat(A value) : bits_(encode(to_double(value))) {}

  constexpr operator float() const { return decode(bits_); }

  constexpr std::uint16_t bits() const { return bits_; }
  static constexpr SmallFloat from_bits(std::uint16_t bits) {
    SmallFloat value{};
    value.bits_ = bits;
    return value;
  }

 private:
  static constexpr int bias = (1 << (exponent_bits - 1)) - 1, lowest_exponent = 1 - bias;
  static constexpr unsigned largest_exponent = (1u << exponent_bits) - 1;
  static constexpr std::uint16_t infinity = static_cast<std::uint16_t>(largest_exponent << fraction_bits);
  static constexpr std::uint64_t one = 1;

  // As a double that rounds in the same way as the number itself.
  template <class A>
  static constexpr double to_double(A value) {
    if constexpr (std::is_integral_v<A> && sizeof(A) == 8) {
      // The integer has more digits than a double: the lost ones set the last digit that is kept (round to odd).
      constexpr A large = A{1} << 53;
      bool beyond = value >= large;
      if constexpr (std::is_signed_v<A>) beyond = beyond || value < -large;
      if (beyond) {
        A kept = static_cast<A>(value >> 11);
        if ((value & 2047) != 0) kept = static_cast<A>(kept | 1);
        return static_cast<double>(kept) * 2048;
      }
    }
    return static_cast<double>(value);
  }

  static constexpr std::uint16_t encode(double value) {
    const auto bits = std::bit_cast<std::uint64_t>(value);
    const auto sign = static_cast<std::uint16_t>(bits >> 63 << 15);
    const auto biased = static_cast<int>(bits >> 52 & 0x7ff);
    const std::uint64_t fraction = bits & ((one << 52) - 1);
    if (biased == 0x7ff) {
      const auto quiet = static_cast<std::uint16_t>((one << (fraction_bits - 1)) | fraction >> (52 - fraction_bits));
      return static_cast<std::uint16_t>(sign | infinity | (fraction ? quiet : 0));
    }
    if (biased == 0) return sign;  // far below what is representable
    const int exponent = biased - 1023;
    const int below = exponent < lowest_exponent ? lowest_exponent - exponent : 0;
    const int shift = 52 - fraction_bits + below;
    if (shift > 54) return sign;
    const std::uint64_t significand = fraction | one << 52;
    std::uint64_t rounded = significand >> shift;
    const std::uint64_t rest = significand & ((one << shift) - 1), tie = one << (shift - 1);
    if (rest > tie || (rest == tie && (rounded & 1))) ++rounded;
    // The leading one of a normal number adds one to the exponent; so does a carry out of the fraction.
    if (below == 0) rounded += static_cast<std::uint64_t>(exponent + bias - 1) << fraction_bits;
    return static_cast<std::uint16_t>(sign | (rounded < infinity ? rounded : infinity));
  }

  static constexpr float decode(std::uint16_t bits) {
    const unsigned exponent = bits >> fraction_bits & largest_exponent;
    const unsigned fraction = bits & ((1u << fraction_bits) - 1);
    if (exponent == largest_exponent)
      return std::bit_cast<float>(static_cast<std::uint32_t>(bits >> 15) << 31 | 0x7f800000u |
                                  fraction << (23 - fraction_bits));
    const unsigned significand = exponent == 0 ? fraction : fraction | 1u << fraction_bits;
    const int scale = (exponent == 0 ? lowest_exponent : static_cast<int>(exponent) - bias) - fraction_bits;
    const double power = std::bit_cast<double>(static_cast<std::uint64_t>(scale + 1023) << 52);
    const double magnitude = significand * power;
    return static_cast<float>(bits >> 15 ? -magnitude : magnitude);
  }

  std::uint16_t bits_;
};

using half = SmallFloat<5, 10>;
using bfloat16 = SmallFloat<8, 7>;
static_assert(sizeof(half) == 2 && std::is_trivially_copyable_v<half>);

}  // namespace samite

template <int exponent_bits, int fraction_bits>
// The standard wants it specialised for types such as these. NOLINTNEXTLINE(bugprone-std-namespace-modification)
class std::numeric_limits<samite::SmallFloat<exponent_bits, fraction_bits>> {
  using T = samite::SmallFloat<exponent_bits, fraction_bits>;
  static constexpr int bias = (1 << (exponent_bits - 1)) - 1;
  static constexpr T of(int bits) { return T::from_bits(static_cast<std::uint16_t>(bits)); }

 public:
  static constexpr bool is_specialized = true, is_signed = true, is_integer = false, is_exact = false;
  static constexpr bool has_infinity = true, has_quiet_NaN = true, is_iec559 = true;
  static constexpr int digits = fraction_bits + 1, radix = 2;
  static constexpr T min() noexcept { return of(1 << fraction_bits); }
  static constexpr T max() noexcept { return of((((1 << exponent_bits) - 1) << fraction_bits) - 1); }
  static constexpr T lowest() noexcept { return of(max().bits() | 0x8000); }
  static constexpr T epsilon() noexcept { return of((bias - fraction_bits) << fraction_bits); }
  static constexpr T denorm_min() noexcept { return of(1); }
  static constexpr T infinity() noexcept { return of(((1 << exponent_bits) - 1) << fraction_bits); }
  static constexpr T quiet_NaN() noexcept { return of(infinity().bits() | 1 << (fraction_bits - 1)); }
};
