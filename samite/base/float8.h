// The 8-bit floating types on the host, of the Open Compute Project's OFP8 (8-bit Floating Point Specification,
// revision 1.0, 2023): f8e4m3 has 4 bits of precision, goes up to 448 and has no infinity; f8e5m2 has 3 bits, a half's
// range, up to 57344, and infinities.
//
// They only hold and convert numbers; arithmetic on them is done in float. Conversions to them round once, to nearest,
// ties to even; numbers that are too large, and infinities, become the largest finite number. Conversions to float are
// exact. A NaN stays a NaN.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace samite {

// `largest`: the bits of the largest finite number.
template <int exponent_bits, int fraction_bits, std::uint8_t largest>
class Float8 {
 public:
  Float8() = default;
  template <class A>
    requires std::is_arithmetic_v<A>
  constexpr Float8(A value) : bits_(encode(static_cast<double>(value))) {}

  constexpr operator float() const { return decode(bits_); }

  constexpr std::uint8_t bits() const { return bits_; }
  static constexpr Float8 from_bits(std::uint8_t bits) {
    Float8 value{};
    value.bits_ = bits;
    return value;
  }

 private:
  static constexpr int bias = (1 << (exponent_bits - 1)) - 1, lowest_exponent = 1 - bias;
  static constexpr std::uint8_t nan = 0x7f;

  // A double holds only 53 bits of a 64-bit integer, which is far more than the rounding here looks at: such an
  // integer is above the largest number.
  static constexpr std::uint8_t encode(double value) {
    if (value != value) return nan;
    const auto sign = static_cast<std::uint8_t>(std::bit_cast<std::uint64_t>(value) >> 63 << 7);
    const double magnitude = sign ? -value : value;
    if (magnitude > decode(largest)) return sign | largest;
    // In units of the last place; subnormal numbers have the unit of the smallest normal number.
    const int exponent = static_cast<int>(std::bit_cast<std::uint64_t>(magnitude) >> 52) - 1023;
    const int unit = (exponent < lowest_exponent ? lowest_exponent : exponent) - fraction_bits;
    const double scaled = magnitude * power(-unit);
    auto digits = static_cast<unsigned>(scaled);
    const double rest = scaled - digits;
    if (rest > 0.5 || (rest == 0.5 && (digits & 1))) ++digits;
    // The leading one of a normal number adds one to the exponent; so does a carry out of the fraction.
    return static_cast<std::uint8_t>(
        sign | (digits + (static_cast<unsigned>(unit + fraction_bits - lowest_exponent) << fraction_bits)));
  }

  static constexpr double power(int exponent) {
    return std::bit_cast<double>(static_cast<std::uint64_t>(exponent + 1023) << 52);
  }

  static constexpr float decode(std::uint8_t bits) {
    const unsigned magnitude = bits & 0x7fu, fraction = bits & ((1u << fraction_bits) - 1);
    const int exponent = static_cast<int>(magnitude >> fraction_bits);
    const float sign = bits >> 7 ? -1.0f : 1.0f;
    if (magnitude > largest) {
      const bool infinite = exponent_bits == 5 && fraction == 0;
      return infinite ? sign * std::numeric_limits<float>::infinity() : std::numeric_limits<float>::quiet_NaN();
    }
    const double digits = exponent == 0 ? fraction : fraction | 1u << fraction_bits;
    return sign * static_cast<float>(digits * power((exponent == 0 ? 1 : exponent) - bias - fraction_bits));
  }

  std::uint8_t bits_;
};

using f8e4m3 = Float8<4, 3, 0x7e>;
using f8e5m2 = Float8<5, 2, 0x7b>;
static_assert(sizeof(f8e4m3) == 1 && std::is_trivially_copyable_v<f8e4m3>);

}  // namespace samite

template <int exponent_bits, int fraction_bits, std::uint8_t largest>
// The standard wants it specialised for types such as these. NOLINTNEXTLINE(bugprone-std-namespace-modification)
class std::numeric_limits<samite::Float8<exponent_bits, fraction_bits, largest>> {
  using T = samite::Float8<exponent_bits, fraction_bits, largest>;
  static constexpr int bias = (1 << (exponent_bits - 1)) - 1;
  static constexpr T of(int bits) { return T::from_bits(static_cast<std::uint8_t>(bits)); }

 public:
  static constexpr bool is_specialized = true, is_signed = true, is_integer = false, is_exact = false;
  static constexpr bool has_infinity = exponent_bits == 5, has_quiet_NaN = true, is_iec559 = false;
  static constexpr int digits = fraction_bits + 1, radix = 2;
  static constexpr T min() noexcept { return of(1 << fraction_bits); }
  static constexpr T max() noexcept { return of(largest); }
  static constexpr T lowest() noexcept { return of(largest | 0x80); }
  static constexpr T epsilon() noexcept { return T(1.0f / (1 << fraction_bits)); }
  static constexpr T denorm_min() noexcept { return of(1); }
  static constexpr T infinity() noexcept { return of(exponent_bits == 5 ? 0x7c : largest); }
  static constexpr T quiet_NaN() noexcept { return of(0x7f); }
};
