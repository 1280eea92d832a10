// The derivative of the logarithm of the gamma function, for every target.
#pragma once

#include "samite/device/cpu/math.h"

namespace samite {

// For 1 <= x <= 2: the distance to the root times a polynomial, so that no digits are lost near the root.
SAMITE_INLINE f64 digamma_near_root(f64 x) {
  const f64 t = 2 * x - 3;
  f64 p = -8.25512972008104e-11;
  p = p * t + 2.4765474440031764e-10;
  p = p * t - 2.889363639216111e-10;
  p = p * t + 8.668257373761658e-10;
  p = p * t - 3.6788868183645545e-09;
  p = p * t + 1.10370884388543e-08;
  p = p * t - 3.166618072027162e-08;
  p = p * t + 9.500926192924096e-08;
  p = p * t - 2.8628755280038686e-07;
  p = p * t + 8.591324222417666e-07;
  p = p * t - 2.578107848270217e-06;
  p = p * t + 7.741156881253708e-06;
  p = p * t - 2.325823828431376e-05;
  p = p * t + 6.995020484160625e-05;
  p = p * t - 0.00021074841215733007;
  p = p * t + 0.000636888028319074;
  p = p * t - 0.0019350666647832667;
  p = p * t + 0.005936795278433826;
  p = p * t - 0.018550615381738605;
  p = p * t + 0.06013562106019355;
  p = p * t - 0.21181371064073026;
  p = p * t + 0.951055876031833;
  return ((x - 1.4616321449683622) - 9.549995429965697e-17) * p;
}

// For x >= 10: Abramowitz and Stegun, Handbook of Mathematical Functions, 6.3.18.
SAMITE_INLINE f64 digamma_of_large(f64 x) {
  const f64 r = 1 / x, q = r * r;
  f64 sum = 1.0 / 12;
  sum = 691.0 / 32760 - q * sum;
  sum = 1.0 / 132 - q * sum;
  sum = 1.0 / 240 - q * sum;
  sum = 1.0 / 252 - q * sum;
  sum = 1.0 / 120 - q * sum;
  sum = 1.0 / 12 - q * sum;
  return log(x) - 0.5 * r - q * sum;
}

// Infinite at zero, NaN if x is a negative integer.
SAMITE_INLINE f64 digamma(f64 x) {
  if (x == 0) return -1 / x;
  f64 sum = 0;
  if (x < 0) {
    // By reflection: digamma(1 - x) - digamma(x) = pi / tan(pi x), of period 1.
    const f64 rest = x - round(x);
    if (!(x > -0x1p52) || rest == 0) return nan_f64();
    sum = rest == 0.5 || rest == -0.5 ? 0.0 : -3.14159265358979323846 / tan(3.14159265358979323846 * rest);
    x = 1 - x;
  }
  if (x < 1) {
    sum -= 1 / x;
    x += 1;
  }
  if (!(x < 10)) return sum + digamma_of_large(x);
  while (x > 2) {
    x -= 1;
    sum += 1 / x;
  }
  return sum + digamma_near_root(x);
}
SAMITE_INLINE f32 digamma(f32 x) { return f32(digamma(f64(x))); }

}  // namespace samite
