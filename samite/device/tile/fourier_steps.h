// Roots of unity and the small transforms that larger ones consist of, on every target.
#pragma once

namespace samite {

template <class T>
struct ComplexNumber {
  T re, im;
};
template <class T>
SAMITE_INLINE ComplexNumber<T> operator+(ComplexNumber<T> a, ComplexNumber<T> b) {
  return {a.re + b.re, a.im + b.im};
}
template <class T>
SAMITE_INLINE ComplexNumber<T> operator-(ComplexNumber<T> a, ComplexNumber<T> b) {
  return {a.re - b.re, a.im - b.im};
}
template <class T>
SAMITE_INLINE ComplexNumber<T> operator*(ComplexNumber<T> a, ComplexNumber<T> b) {
  return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re};
}

// exp(-2πi k / n), or its conjugate, for 0 ≤ k < n: by the Taylor series of sine and cosine up to π/4. The first
// omitted term is less than half a unit in the last place.
template <bool conjugate, class T>
SAMITE_INLINE ComplexNumber<T> root_of_unity(int k, int n) {
  const u32 eighths = u32(k) * 8;
  const int octant = int(eighths / u32(n)), rest = int(eighths - u32(octant) * u32(n));
  const T angle = T(octant % 2 ? n - rest : rest) / T(n) * T(0.78539816339744830962), square = angle * angle;
  T sine = T(1), cosine = T(1);
  constexpr int last = sizeof(T) == 4 ? 11 : 17;
#pragma unroll
  for (int i = last; i > 1; i -= 2) {
    sine = T(1) - square * sine * T(1.0 / (i * (i - 1)));
    cosine = T(1) - square * cosine * T(1.0 / ((i - 1) * (i - 2)));
  }
  sine = sine * angle;
  const bool turned = (octant + 1) & 2;
  const T re = turned ? sine : cosine, im = turned ? cosine : sine;
  const bool negative = (octant & 4) != 0;
  return {(octant + 2) & 4 ? -re : re, negative == conjugate ? -im : im};
}

// The radix of the next step of a transform whose remaining length is n.
constexpr int fourier_radix(int n) {
  if (n % 4 == 0) return 4;
  for (int radix = 2; radix * radix <= n; ++radix)
    if (n % radix == 0) return radix;
  return n;
}
constexpr int fourier_steps(int n) { return n == 1 ? 0 : 1 + fourier_steps(n / fourier_radix(n)); }
// A step of a larger radix has a thread, or an iteration, for each number of its result.
inline constexpr int largest_small_radix = 7;

// The transform of `radix` numbers, in place.
template <int radix, bool conjugate, class T>
SAMITE_INLINE void transform_few(ComplexNumber<T> (&x)[radix]) {
  using C = ComplexNumber<T>;
  if constexpr (radix == 2) {
    const C a = x[0], b = x[1];
    x[0] = a + b, x[1] = a - b;
  } else if constexpr (radix == 4) {
    const C a = x[0] + x[2], b = x[0] - x[2], c = x[1] + x[3], d = x[1] - x[3];
    const C turned = conjugate ? C{-d.im, d.re} : C{d.im, -d.re};
    x[0] = a + c, x[1] = b + turned, x[2] = a - c, x[3] = b - turned;
  } else {
    C y[radix];
#pragma unroll
    for (int q = 0; q < radix; ++q) {
      y[q] = x[0];
#pragma unroll
      for (int r = 1; r < radix; ++r) y[q] = y[q] + x[r] * root_of_unity<conjugate, T>(q * r % radix, radix);
    }
#pragma unroll
    for (int q = 0; q < radix; ++q) x[q] = y[q];
  }
}

}  // namespace samite
