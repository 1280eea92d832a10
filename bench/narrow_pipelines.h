// Pipelines of 8- and 16-bit integers, which need full vectors of those.
#pragma once

#include "samite/samite.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <vector>

namespace pipelines {

// Plain arithmetic: 24 steps for each element, without neighbours.
template <class T>
auto plain_integers(const char *name) {
  using namespace samite;
  return Pipeline{name, {"out", "a", "b"}, [](Array<T, 2> out, Array<const T, 2> a, Array<const T, 2> b) {
                    Var y{"y"}, x{"x"}, yo{"yo"}, yi{"yi"};
                    Func<T> result{"result", out};
                    Traced<T> value = a(y, x);
                    for (int step = 0; step < 24; ++step) {
                      const T limit = static_cast<T>(200 + step);
                      value = max(min(value, Traced<T>(limit)) + b(y, x), a(y, x) ^ value);
                    }
                    result(y, x) = value;
                    schedule_cpu([&] { result.split(y, yo, yi, 64).parallel(yo).vectorize(x); });
                  }};
}

// The median of 3 x 3 bytes: columns are sorted, then the median is one of three of their elements.
inline auto median() {
  using namespace samite;
  using Byte = std::uint8_t;
  return Pipeline{"median", {"out", "in"}, [](Array<Byte, 2> out, Array<const Byte, 2> in) {
                    Var y{"y"}, x{"x"}, yo{"yo"}, yi{"yi"};
                    Func<Byte> result{"result", out};
                    std::array<UInt8, 3> low, middle, high;
                    for (int i = 0; i < 3; ++i) {
                      const UInt8 a = in(y, x + i), b = in(y + 1, x + i), c = in(y + 2, x + i);
                      const UInt8 smaller = min(a, b), larger = max(a, b);
                      low[i] = min(smaller, c);
                      high[i] = max(larger, c);
                      middle[i] = max(smaller, min(larger, c));
                    }
                    const auto median_of = [](const UInt8 &a, const UInt8 &b, const UInt8 &c) {
                      return max(min(a, b), min(max(a, b), c));
                    };
                    result(y, x) =
                        median_of(max(max(low[0], low[1]), low[2]), median_of(middle[0], middle[1], middle[2]),
                                  min(min(high[0], high[1]), high[2]));
                    schedule_cpu([&] { result.split(y, yo, yi, 64).parallel(yo).vectorize(x); });
                  }};
}

// Bytes, averaged over 3 x 3 in 16 bits.
inline auto mean_of_bytes() {
  using namespace samite;
  using Byte = std::uint8_t;
  return Pipeline{"mean_of_bytes", {"out", "in"}, [](Array<Byte, 2> out, Array<const Byte, 2> in) {
                    Var y{"y"}, x{"x"}, yo{"yo"}, yi{"yi"};
                    Func<Byte> result{"result", out};
                    UInt16 sum = std::uint16_t{8};
                    constexpr std::array<int, 3> weights{1, 2, 1};
                    for (int j = 0; j < 3; ++j)
                      for (int i = 0; i < 3; ++i)
                        sum = sum + cast<UInt16>(in(y + j, x + i)) *
                                        UInt16(static_cast<std::uint16_t>(weights[j] * weights[i]));
                    result(y, x) = cast<UInt8>(sum >> UInt16(std::uint16_t{4}));
                    schedule_cpu([&] { result.split(y, yo, yi, 64).parallel(yo).vectorize(x); });
                  }};
}

// Eight stencils of 16 bits, one after another in strips of rows: each element and its four neighbours.
inline auto stencils16() {
  using namespace samite;
  using Word = std::uint16_t;
  return Pipeline{
      "stencils16", {"out", "in"}, [](Array<Word, 2> out, Array<const Word, 2> in) {
        Var y{"y"}, x{"x"}, yo{"yo"}, yi{"yi"};
        constexpr int steps = 8;
        std::vector<Func<Word>> stages;
        const auto mixed = [&](auto &&of) {
          return ((of(0, 0) << UInt16(Word{2})) + of(-1, 0) + of(1, 0) + of(0, -1) + of(0, 1)) >> UInt16(Word{3});
        };
        // The output begins `steps` elements inside the input.
        for (int step = 0; step < steps; ++step) {
          Func<Word> stage = step + 1 < steps ? Func<Word>("stage" + std::to_string(step)) : Func<Word>("result", out);
          if (step == 0)
            stage(y, x) = mixed([&](int j, int i) { return in(y + steps + j, x + steps + i); });
          else
            stage(y, x) = mixed([&](int j, int i) { return stages.back()(y + j, x + i); });
          stages.push_back(stage);
        }
        schedule_cpu([&] {
          Func<Word> result = stages.back();
          result.split(y, yo, yi, 128).parallel(yo).vectorize(x);
          for (int step = 0; step + 1 < steps; ++step)
            stages[step].store_at(result, yo).compute_at(result, yi).fold_storage(y, 4).vectorize(x);
        });
      }};
}

}  // namespace pipelines
