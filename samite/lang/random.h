// Counter-based random numbers: Philox4x32-10 (Salmon, Moraes, Dror, Shaw, «Parallel random numbers: as easy as 1, 2,
// 3», SC 2011).
//
//   Random rng{seed, i};                     // the stream of instance i: no two overlap
//   Float x = rng.uniform();                 // 0 ≤ x < 1
//   Double y = rng.normal<double>();
//   Vec3f d = rng.on_sphere();
//   Random later{seed, i, 1000};             // the same stream from its draw number 1000 on
//   Half h = cast<Half>(rng.uniform());      // numbers are float or double; half and bfloat16 are cast from them
//
// A draw is a function of seed, stream and the number of earlier draws: the same on every target, with any number of
// threads, in a forward launch and in its adjoint, and on the host by `HostRandom`. Draws that use log, sin, cos or
// cbrt agree to the accuracy of these functions. Draws have no gradient.
//
// There are 2^64 seeds, with 2^64 streams of 2^64 draws each. The number of draws is a local of the kernel: in a loop
// it continues from iteration to iteration, and a draw inside an if_ counts for the instances that reach it. Each draw
// is one block of four 32-bit words, whether it needs one or all (two blocks for more than two doubles), some 170
// operations in the IR; so draw a Vec4f once rather than a Float four times.
#pragma once

#include "samite/lang/algebra/vector_functions.h"

namespace samite {
namespace lang {

// The high and the low word of a product.
inline std::array<std::uint32_t, 2> wide_product(std::uint32_t a, std::uint32_t b) {
  const std::uint64_t product = std::uint64_t{a} * b;
  return {static_cast<std::uint32_t>(product >> 32), static_cast<std::uint32_t>(product)};
}
inline std::array<UInt, 2> wide_product(const UInt &a, std::uint32_t b) {
  const UInt64 product = UInt64(a) * b;
  return {UInt(product >> 32), UInt(product)};
}

// Four words from a counter of four words and a key of two. Word is std::uint32_t, or UInt in a kernel; for tiles of
// words the key is UInt.
template <class Word, class Key = Word>
std::array<Word, 4> philox(std::array<Word, 4> counter, std::array<Key, 2> key) {
  for (int round = 0; round < 10; ++round) {
    if (round > 0) key = {Key(key[0] + 0x9E3779B9u), Key(key[1] + 0xBB67AE85u)};  // the golden ratio, √3 - 1
    auto [high0, low0] = wide_product(counter[0], 0xD2511F53u);
    auto [high1, low1] = wide_product(counter[2], 0xCD9E8D57u);
    counter = std::array<Word, 4>{Word(high1 ^ counter[1] ^ key[0]), std::move(low1), Word(high0 ^ counter[3] ^ key[1]),
                                  std::move(low0)};
  }
  return counter;
}

// Any integer as 64 bits.
template <class Long>
class LongOperand {
 public:
  template <class A>
    requires std::integral<A> || std::integral<value_type_of<A>>
  LongOperand(const A &value, SourceLocation where = std::source_location::current()) : value_(convert(value, where)) {}
  const Long &value() const { return value_; }

 private:
  template <class A>
  static Long convert(const A &value, SourceLocation where) {
    if constexpr (std::integral<A>)
      return Long(static_cast<std::uint64_t>(value));
    else
      return Long(Traced<value_type_of<A>>(value), where);
  }

  Long value_;
};

struct TracedNumbers {
  using Word = UInt;
  using Long = UInt64;
  using Whole = Int;
  template <class T>
  using Real = Traced<T>;
};
struct HostNumbers {
  using Word = std::uint32_t;
  using Long = std::uint64_t;
  using Whole = std::int32_t;
  template <class T>
  using Real = T;
};

template <class Numbers>
class BasicRandom {
  using Word = typename Numbers::Word;
  using Long = typename Numbers::Long;
  using Whole = typename Numbers::Whole;
  template <class T>
  using Real = typename Numbers::template Real<T>;
  using Here = std::source_location;

 public:
  BasicRandom(const LongOperand<Long> &seed, const LongOperand<Long> &stream, const LongOperand<Long> &draws = 0)
      : seed_(seed.value()), stream_(stream.value()), draws_(draws.value()) {}

  // Uniform in 0 ≤ x < 1, in steps of 2^-24 or 2^-53.
  template <class T = float>
  Real<T> uniform(SourceLocation where = Here::current()) {
    return uniform_vector<1, T>(where)[0];
  }
  template <int N, class T = float>
  Vector<Real<T>, N> uniform_vector(SourceLocation where = Here::current()) {
    static_assert(N >= 1 && N <= 4, "a draw is of 1 to 4 numbers");
    require_drawn_type<T>();
    const Attributed<Word> at(where);
    if constexpr (std::same_as<T, float>) {
      const std::array<Word, 4> words = block();
      return Vector<Real<T>, N>::generate(
          [&](int i) { return Real<T>(words[static_cast<std::size_t>(i)] >> 8) * Real<T>(0x1p-24f); });
    } else {
      const std::array<Word, 4> words = block(), more = N > 2 ? block() : words;
      return Vector<Real<T>, N>::generate([&](int i) {
        const std::array<Word, 4> &from = i < 2 ? words : more;
        const std::size_t k = i % 2 == 0 ? 0 : 2;
        return (Real<T>(from[k] >> 5) * Real<T>(0x1p26) + Real<T>(from[k + 1] >> 6)) * Real<T>(0x1p-53);
      });
    }
  }

  // A uniform integer, 0 ≤ k < n; or low ≤ k < high with high - low at most 2^31 - 1. The bias is below n / 2^64.
  Whole integer(const ComponentOperand<Whole> &n, SourceLocation where = Here::current()) {
    const Attributed<Word> at(where);
    return below(ComponentOf<Whole>::from(n));
  }
  Whole integer(const ComponentOperand<Whole> &low, const ComponentOperand<Whole> &high,
                SourceLocation where = Here::current()) {
    const Attributed<Word> at(where);
    const Whole from = ComponentOf<Whole>::from(low);
    return from + below(ComponentOf<Whole>::from(high) - from);
  }

  // Normal numbers of mean 0 and variance 1, by Box & Muller (1958); the largest is 6.7 in float, 8.6 in double.
  template <class T = float>
  Real<T> normal(SourceLocation where = Here::current()) {
    return normal_vector<1, T>(where)[0];
  }
  template <int N, class T = float>
  Vector<Real<T>, N> normal_vector(SourceLocation where = Here::current()) {
    static_assert(N >= 1 && N <= 4, "a draw is of 1 to 4 numbers");
    require_drawn_type<T>();
    using R = Real<T>;
    const Attributed<Word> at(where);
    const Vector<R, 4> uniforms = in_unit<N, T>();
    return Vector<R, N>::generate([&](int i) {
      const R radius = component::sqrt(R(-2) * component::log(uniforms[i / 2 * 2]));
      const R angle = uniforms[i / 2 * 2 + 1] * R(two_pi);
      return radius * (i % 2 == 0 ? component::cos(angle) : component::sin(angle));
    });
  }

  // Uniform on the unit sphere, in the unit ball and in the unit disk.
  template <class T = float>
  Vector<Real<T>, 3> on_sphere(SourceLocation where = Here::current()) {
    const Attributed<Word> at(where);
    return direction<T>(uniform_vector<2, T>());
  }
  template <class T = float>
  Vector<Real<T>, 3> in_ball(SourceLocation where = Here::current()) {
    const Attributed<Word> at(where);
    const Vector<Real<T>, 3> u = uniform_vector<3, T>();
    return direction<T>(Vector<Real<T>, 2>(u[0], u[1])) * component::cbrt(u[2]);
  }
  template <class T = float>
  Vector<Real<T>, 2> in_disk(SourceLocation where = Here::current()) {
    using R = Real<T>;
    const Attributed<Word> at(where);
    const Vector<R, 2> u = uniform_vector<2, T>();
    const R radius = component::sqrt(u[0]), angle = u[1] * R(two_pi);
    return Vector<R, 2>(radius * component::cos(angle), radius * component::sin(angle));
  }

  // A raw draw: four words.
  std::array<Word, 4> words(SourceLocation where = Here::current()) {
    const Attributed<Word> at(where);
    return block();
  }

 private:
  template <class T>
  static constexpr void require_drawn_type() {
    static_assert(std::same_as<T, float> || std::same_as<T, double>,
                  "random numbers are float or double; draw a float and cast it, such as "
                  "cast<Half>(random.uniform())");
  }

  static constexpr double two_pi = 6.283185307179586;

  std::array<Word, 4> block() {
    std::array<Word, 4> counter{Word(draws_), Word(draws_ >> 32), Word(stream_), Word(stream_ >> 32)};
    std::array<Word, 2> key{Word(seed_), Word(seed_ >> 32)};
    draws_ = draws_ + 1;
    return philox<Word>(std::move(counter), std::move(key));
  }

  // The integer part of n times a 64-bit random fraction.
  Whole below(const Whole &n) {
    const std::array<Word, 4> words = block();
    const Long factor(n), low = Long(words[0]) * factor, high = Long(words[1]) * factor;
    return Whole((high + (low >> 32)) >> 32);
  }

  // Four numbers: the even ones above 0 and at most 1, as arguments of logarithms; those that N does not need are 1.
  template <int N, class T>
  Vector<Real<T>, 4> in_unit() {
    using R = Real<T>;
    if constexpr (std::same_as<T, float>) {
      const std::array<Word, 4> words = block();
      return Vector<R, 4>::generate(
          [&](int i) { return R(words[static_cast<std::size_t>(i)]) * R(0x1p-32f) + R(0x1p-33f); });
    } else {
      const Vector<R, (N > 2 ? 4 : 2)> u = uniform_vector<(N > 2 ? 4 : 2), T>();
      return Vector<R, 4>::generate([&](int i) { return i < u.size() ? R(R(1) - u[i]) : R(1); });
    }
  }

  template <class T>
  static Vector<Real<T>, 3> direction(const Vector<Real<T>, 2> &u) {
    using R = Real<T>;
    const R z = R(1) - (u[0] + u[0]), radius = component::sqrt(component::max(R(1) - z * z, R(0)));
    const R angle = u[1] * R(two_pi);
    return Vector<R, 3>(radius * component::cos(angle), radius * component::sin(angle), z);
  }

  Long seed_, stream_, draws_;
};

}  // namespace lang

class Random : public lang::BasicRandom<lang::TracedNumbers> {
 public:
  using BasicRandom::BasicRandom;
};
class HostRandom : public lang::BasicRandom<lang::HostNumbers> {
 public:
  using BasicRandom::BasicRandom;
};

}  // namespace samite
