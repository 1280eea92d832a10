// Ranges with bounds anywhere in their type, also near both of its ends: a kernel with a loop for each of several
// steps, and the results by exact arithmetic.
#pragma once

#include "samite/samite.h"

#include <limits>
#include <random>
#include <vector>

namespace samite::test {

struct RangeEnds {
  static constexpr int steps[] = {1, -1, 2, -2, 3, -7, 1'000'000'000, -1'000'000'000, 2147483647, -2147483647 - 1};
  static constexpr int step_count = 10;
  static constexpr int results = 3;  // of a step: the number of iterations, the last index, a value that is carried

  // The bounds of `cases` ranges of each step: from, to. None has more than about 40 iterations.
  template <class T>
  static std::vector<T> bounds(int cases, unsigned seed) {
    using Limits = std::numeric_limits<T>;
    std::mt19937_64 random(seed);
    auto below = [&](std::uint64_t n) { return static_cast<std::int64_t>(random() % n); };
    auto in_type = [](__int128 n) {
      return static_cast<T>(n < Limits::min() ? Limits::min() : n > Limits::max() ? Limits::max() : static_cast<T>(n));
    };
    std::vector<T> all;
    for (int i = 0; i < cases; ++i)
      for (const int step : steps) {
        const __int128 places[] = {Limits::min(), Limits::max(), 0, static_cast<T>(random())};
        const __int128 size = step < 0 ? -__int128{step} : step;
        const T begin = in_type(places[below(4)] + below(9) - 4);
        const __int128 distance = below(40) * size + below(static_cast<std::uint64_t>(size) + 4) - 2;
        T end = in_type(step > 0 ? begin + distance : begin - distance);
        if (below(6) == 0)
          end = in_type(step > 0 ? begin - __int128{below(1u << 31)} : begin + __int128{below(1u << 31)});
        if (below(8) == 0) end = step > 0 ? Limits::min() : Limits::max();
        all.push_back(begin), all.push_back(end);
      }
    return all;
  }

  // An index as a number around 1.
  static double scaled(double index) { return index * 1e-19; }

  template <class T>
  static std::vector<double> expected(const std::vector<T> &bounds, int most, double x, std::vector<double> &gradient) {
    std::vector<double> all;
    for (std::size_t i = 0; i < bounds.size(); i += 2) {
      const int step = steps[i / 2 % step_count];
      double count = 0, last = 0, value = 1, derivative = 0;
      for (__int128 k = bounds[i]; step > 0 ? k < bounds[i + 1] : k > bounds[i + 1]; k += step) {
        derivative = derivative * x + value;
        value = value * x + scaled(static_cast<double>(static_cast<T>(k)));
        last = static_cast<double>(static_cast<T>(k));
        if (++count == most) break;
      }
      all.insert(all.end(), {count, last, value});
      gradient.push_back(derivative);
    }
    return all;
  }

  // The range of one instance; `most`: the loop is left by break_ after this many iterations.
  template <class T>
  static void record(const Array<double, 3> &out, const Array<const double, 2> &x, const Int &i, int s,
                     const Traced<T> &from, const Traced<T> &to, int most) {
    Double count = 0., last = 0., value = 1.;
    const Double factor = x(i, s);
    for (Traced<T> k : range(from, to, steps[s])) {
      last = cast<Double>(k);
      value = value * factor + last * 1e-19;
      count = count + 1.;
      if (most > 0) if_(count == most, [] { break_(); });
    }
    out(i, s, 0) = count;
    out(i, s, 1) = last;
    out(i, s, 2) = value;
  }

  // Each instance has ranges of its own.
  template <class T>
  static auto of_instances(int most = 0) {
    return Kernel{"ranges",
                  {"out", "x", "bounds"},
                  [most](Array<double, 3> out, Array<const double, 2> x, Array<const T, 3> bounds) {
                    Int i = thread_index();
                    for (int s = 0; s < step_count; ++s)
                      record<T>(out, x, i, s, bounds(i, s, 0), bounds(i, s, 1), most);
                  }};
  }
  // All instances have the same ones.
  template <class T>
  static auto of_launch(int most = 0) {
    return Kernel{"ranges",
                  {"out", "x", "bounds"},
                  [most](Array<double, 3> out, Array<const double, 2> x, Array<const T, 3> bounds) {
                    Int i = thread_index();
                    for (int s = 0; s < step_count; ++s)
                      record<T>(out, x, i, s, bounds(0, s, 0), bounds(0, s, 1), most);
                  }};
  }
};

}  // namespace samite::test
