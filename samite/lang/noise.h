// Gradient noise in one to four dimensions, sums of octaves of it, and flows without divergence.
//
//   Float n = perlin(p);                            // p: Float, Vec2f, Vec3f or Vec4f
//   auto [value, gradient] = perlin_with_gradient(p, seed);
//   Float cloud = fractal_noise(p, 5);              // five octaves
//   Vec3f velocity = curl_noise(p);                 // of Vec2f or Vec3f
//
// Perlin, «Improving Noise» (SIGGRAPH 2002): gradients at the points of the integer lattice, from his set of
// directions, blended by 6 t^5 - 15 t^4 + 10 t^3. Noise is 0 at each lattice point, between -1 and 1 elsewhere, and has
// continuous second derivatives, so that a gradient through it (and through perlin_with_gradient) is right everywhere.
// The direction at a point comes from a hash of its 32-bit coordinates and the seed instead of Perlin's table of 256
// entries: it does not repeat, and needs no table look-up. Positions must be within ±2^31; float represents 24 bits of
// them. Callers convert 16-bit positions themselves.
//
// Operations in the IR: 50, 130, 320 and 710 in 1 to 4 dimensions; a sum of octaves is a loop.
#pragma once

#include "samite/lang/algebra/vector_functions.h"

namespace samite {

// perlin(p) and its derivative with respect to p.
template <class T, int N>
struct NoiseSample {
  T value;
  Vector<T, N> gradient;
};

namespace lang {

template <class T>
using WordOf = std::conditional_t<Scalar<T>, std::uint32_t, UInt>;
template <class T>
using WordOperand = ComponentOperand<WordOf<T>>;

// The lattice coordinate below x, as a word.
template <class T>
WordOf<T> lattice_word(const T &floor) {
  if constexpr (Scalar<T>)
    return static_cast<std::uint32_t>(static_cast<std::int32_t>(floor));
  else
    return UInt(cast<Int>(floor));
}

// Hashes a lattice point, whose coordinates were multiplied by odd constants and combined (the finalizer is Wellons'
// lowbias32).
template <class Word>
Word mixed(Word h) {
  h = Word(h ^ (h >> 16)) * 0x7FEB352Du;
  h = Word(h ^ (h >> 15)) * 0x846CA68Bu;
  return h ^ (h >> 16);
}

// The direction that a hash selects.
template <class T>
Vector<T, 1> lattice_direction(const WordOf<T> &h, Vector<T, 1> *) {
  return Vector<T, 1>(T(h & 15u) * T(2.0 / 15) - T(1));  // 16 slopes from -1 to 1
}
// One of (±1, ±2) and (±2, ±1).
template <class T>
Vector<T, 2> lattice_direction(const WordOf<T> &h, Vector<T, 2> *) {
  const T u = component::select((h & 1u) == 0u, T(1), T(-1)), v = component::select((h & 2u) == 0u, T(2), T(-2));
  const auto swapped = (h & 4u) != 0u;
  return Vector<T, 2>(component::select(swapped, v, u), component::select(swapped, u, v));
}
// To the middles of the twelve edges of a cube, four of them twice: Perlin's grad().
template <class T>
Vector<T, 3> lattice_direction(const WordOf<T> &hash, Vector<T, 3> *) {
  const WordOf<T> h = hash & 15u;
  const T u = component::select((h & 1u) == 0u, T(1), T(-1)), v = component::select((h & 2u) == 0u, T(1), T(-1));
  const auto first = h < 8u, second = h < 4u, again = (h & 13u) == 12u;
  return Vector<T, 3>(component::select(first, u, component::select(again, v, T(0))),
                      component::select(first, component::select(second, v, T(0)), u),
                      component::select(second, T(0), component::select(again, T(0), v)));
}
// To the middles of the 32 edges of a hypercube: three of the four coordinates are ±1.
template <class T>
Vector<T, 4> lattice_direction(const WordOf<T> &h, Vector<T, 4> *) {
  const T u = component::select((h & 1u) == 0u, T(1), T(-1)), v = component::select((h & 2u) == 0u, T(1), T(-1)),
          w = component::select((h & 4u) == 0u, T(1), T(-1));
  const WordOf<T> zero = (h >> 3) & 3u;  // the coordinate that is 0
  return Vector<T, 4>(
      component::select(zero == 0u, T(0), u), component::select(zero == 1u, T(0), component::select(zero == 0u, u, v)),
      component::select(zero == 2u, T(0), component::select(zero == 3u, w, v)), component::select(zero == 3u, T(0), w));
}

// The factor that scales noise in N dimensions to -1 to 1.
template <int N>
constexpr double noise_scale = N == 1   ? 2.0
                               : N == 2 ? 0.66
                               : N == 3 ? 0.96
                                        : 0.8;

// Perlin noise at p; computes the gradient only if `With` is true.
template <bool With, class T, int N>
NoiseSample<T, N> perlin_sample(const Vector<T, N> &p, const WordOf<T> &seed) {
  static_assert(N >= 1 && N <= 4, "noise is of one to four dimensions");
  using Word = WordOf<T>;
  const Vector<T, N> cell = floor(p), f = p - cell;
  constexpr std::array<std::uint32_t, 4> odd{0x8DA6B343u, 0xD8163841u, 0xCB1AB31Fu, 0x165667B1u};
  const auto low =
      Vector<Word, N>::generate([&](int k) { return Word(lattice_word(cell[k]) * odd[static_cast<std::size_t>(k)]); });
  const auto high = Vector<Word, N>::generate([&](int k) { return Word(low[k] + odd[static_cast<std::size_t>(k)]); });
  const auto fade =
      Vector<T, N>::generate([&](int k) { return T(f[k] * f[k] * f[k] * (f[k] * (f[k] * T(6) - T(15)) + T(10))); });

  // Each corner's value and slope direction; pairs are then blended, dimension by dimension.
  std::array<std::optional<NoiseSample<T, N>>, (1 << N)> corners;
  for (int corner = 0; corner < (1 << N); ++corner) {
    Word h = seed;
    for (int k = 0; k < N; ++k) h = h ^ ((corner >> k) & 1 ? high[k] : low[k]);
    Vector<T, N> direction = lattice_direction<T>(mixed(h), static_cast<Vector<T, N> *>(nullptr));
    const auto offset = Vector<T, N>::generate([&](int k) { return (corner >> k) & 1 ? T(f[k] - T(1)) : T(f[k]); });
    T slope = dot(direction, offset);
    corners[static_cast<std::size_t>(corner)].emplace(NoiseSample<T, N>{std::move(slope), std::move(direction)});
  }
  for (int k = N - 1; k >= 0; --k) {
    const T rise = f[k] * f[k] * (f[k] * (f[k] * T(30) - T(60)) + T(30));
    for (int i = 0; i < (1 << k); ++i) {
      NoiseSample<T, N> &a = *corners[static_cast<std::size_t>(i)];
      const NoiseSample<T, N> &b = *corners[static_cast<std::size_t>(i + (1 << k))];
      const T difference = b.value - a.value;
      if constexpr (With) {
        a.gradient = a.gradient + (b.gradient - a.gradient) * fade[k];
        a.gradient[k] = a.gradient[k] + difference * rise;
      }
      a.value = a.value + difference * fade[k];
    }
  }
  const T scale(noise_scale<N>);
  NoiseSample<T, N> &result = *corners[0];
  return {result.value * scale, With ? result.gradient * scale : Vector<T, N>()};
}

// A scalar or vector position as a vector, of traced values or of the host's.
template <class P>
auto noise_position(const P &p, SourceLocation where) {
  if constexpr (VectorValue<P>) {
    return vector_type_of<P>(loaded(p, where));
  } else if constexpr (TracedValue<P>) {
    using T = Traced<value_type_of<P>>;
    return Vector<T, 1>(p);
  } else {
    return Vector<P, 1>(p);
  }
}
template <class P>
concept AnyPosition = FloatingVector<P> || FloatingScalar<value_type_of<P>> || FloatingScalar<P>;
template <class P>
using noise_component = typename decltype(noise_position(std::declval<const P &>(), {}))::component_type;
// 16-bit types have too few numbers between two lattice points.
template <class P>
concept NoisePosition = AnyPosition<P> && sizeof(typename ComponentOf<noise_component<P>>::Scalar) >= 4;
template <class P>
concept CoarsePosition = AnyPosition<P> && !NoisePosition<P>;
template <class P>
using NoiseSeed = WordOperand<noise_component<P>>;

struct convert_the_position;

}  // namespace lang

template <lang::NoisePosition P>
auto perlin(const P &p, const lang::NoiseSeed<P> &seed = 0, SourceLocation where = std::source_location::current()) {
  using T = lang::noise_component<P>;
  const lang::Attributed<T> at(where);
  return lang::perlin_sample<false>(lang::noise_position(p, where), lang::ComponentOf<lang::WordOf<T>>::from(seed))
      .value;
}
template <lang::NoisePosition P>
auto perlin_with_gradient(const P &p, const lang::NoiseSeed<P> &seed = 0,
                          SourceLocation where = std::source_location::current()) {
  using T = lang::noise_component<P>;
  const lang::Attributed<T> at(where);
  return lang::perlin_sample<true>(lang::noise_position(p, where), lang::ComponentOf<lang::WordOf<T>>::from(seed));
}

struct FractalOptions {
  double lacunarity = 2;  // ratio of frequencies between octaves
  double gain = 0.5;      // of amplitudes
};

// The sum of gain^k perlin(lacunarity^k p, seed + k) over k = 0 … octaves - 1.
template <lang::NoisePosition P>
auto fractal_noise(const P &p, int octaves, const FractalOptions &options = {}, const lang::NoiseSeed<P> &seed = 0,
                   SourceLocation where = std::source_location::current()) {
  using T = lang::noise_component<P>;
  const lang::Attributed<T> at(where);
  auto position = lang::noise_position(p, where);
  lang::WordOf<T> octave = lang::ComponentOf<lang::WordOf<T>>::from(seed);
  T sum(0), amplitude(1), frequency(1);
  lang::repeat<T>(octaves, where, [&] {
    sum = sum + amplitude * lang::perlin_sample<false>(position * frequency, octave).value;
    amplitude = amplitude * T(options.gain);
    frequency = frequency * T(options.lacunarity);
    octave = octave + 1u;
  });
  return sum;
}

// The curl of a noise potential: a velocity of zero divergence (Bridson, Hourihan, Nordenstam 2007). The potential is
// perlin(p, seed) in two dimensions; in three, the potentials have the seeds seed, seed + 1 and seed + 2.
template <lang::NoisePosition P>
  requires lang::FloatingVector<P>
auto curl_noise(const P &p, const lang::NoiseSeed<P> &seed = 0,
                SourceLocation where = std::source_location::current()) {
  using T = lang::component_of<P>;
  using V = lang::vector_type_of<P>;
  constexpr int n = lang::size_of_vector<P>;
  static_assert(n == 2 || n == 3, "curl_noise is of two or three dimensions");
  const lang::Attributed<T> at(where);
  const V &position = lang::loaded(p, where);
  const lang::WordOf<T> first = lang::ComponentOf<lang::WordOf<T>>::from(seed);
  const V a = lang::perlin_sample<true>(position, first).gradient;
  if constexpr (n == 2) {
    return V(a[1], -a[0]);
  } else {
    const V b = lang::perlin_sample<true>(position, lang::WordOf<T>(first + 1u)).gradient;
    const V c = lang::perlin_sample<true>(position, lang::WordOf<T>(first + 2u)).gradient;
    return V(c[1] - b[2], a[2] - c[0], b[0] - a[1]);
  }
}

#define SAMITE_REFUSED(name)                       \
  template <lang::CoarsePosition P, class... More> \
  lang::convert_the_position name(const P &, const More &...) = delete;
SAMITE_REFUSED(perlin)                // positions are float or double: perlin(Float(x))
SAMITE_REFUSED(perlin_with_gradient)  // positions are float or double: perlin_with_gradient(Float(x))
SAMITE_REFUSED(fractal_noise)         // positions are float or double: fractal_noise(Float(x), octaves)
SAMITE_REFUSED(curl_noise)            // positions are float or double: curl_noise(Vec3f(x))
#undef SAMITE_REFUSED

}  // namespace samite
