// Bounds of the indices of calls: each Func is computed before its callers, at the root and inside of loops, and
// matches its definition.
#include "samite/samite.h"
#include "tests/runtime/message_of.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <functional>

namespace samite::test {
namespace {

using testing::HasSubstr;

class IndexBounds : public testing::Test {
 protected:
  static constexpr int count = 41;

  // g(x) = f(index) with f(i) = 3 * i + 1, under several schedules.
  template <class Traced, class Host>
  static void expect_right(const std::string &what, const Traced &index, const Host &expected) {
    for (const int k : {3, 1, -2, 0}) {
      std::vector<std::int32_t> in(count), right;
      for (int x = 0; x < count; ++x) in[static_cast<std::size_t>(x)] = (x * 7) % 5 - 2;
      for (int x = 0; x < count; ++x) right.push_back(3 * expected(x, k, in[static_cast<std::size_t>(x)]) + 1);
      const Buffer<std::int32_t> from{Device::cpu(), {count}, in};
      for (const char *place : {"root", "tile", "element", "default"}) {
        const Pipeline p{
            "p", {"out", "in", "k"}, [&](Array<std::int32_t, 1> out, Array<const std::int32_t, 1> array, Int scalar) {
              Var i{"i"}, x{"x"}, xo{"xo"}, xi{"xi"};
              Func<std::int32_t> f{"f"}, g{"g", out};
              f(i) = 3 * i + 1;
              g(x) = f(index(x, scalar, array(x)));
              if (place == std::string("default")) return;
              schedule_cpu([&] {
                if (place == std::string("root")) f.compute_root();
                if (place == std::string("root")) return;
                g.split(x, xo, xi, 8);
                f.compute_at(g, place == std::string("tile") ? xo : xi);
              });
            }};
        const Buffer<std::int32_t> out{Device::cpu(), {count}};
        p.launch(out, from, k);
        EXPECT_EQ(out.to_vector(), right) << what << " at " << place << ", k = " << k;
      }
    }
  }
};

#define EXPECT_INDEX(traced, host)                                                                                \
  expect_right(                                                                                                   \
      #traced, [](const auto &x, const auto &k, const auto &in) { return (void)x, (void)k, (void)in, (traced); }, \
      [](int x, int k, int in) { return (void)x, (void)k, (void)in, (host); })

TEST_F(IndexBounds, OfProducts) {
  EXPECT_INDEX(x * x, x * x);
  EXPECT_INDEX((x - 3) * (5 - x), (x - 3) * (5 - x));
  EXPECT_INDEX((x - 20) * (x - 20), (x - 20) * (x - 20));
  EXPECT_INDEX(x * k, x * k);
  EXPECT_INDEX((x - 9) * (k + 1) - k, (x - 9) * (k + 1) - k);
  EXPECT_INDEX(clamp(in * x, -10, 20), std::min(std::max(in * x, -10), 20));
  EXPECT_INDEX(clamp(in, -2, 2) * x, in * x);
}

TEST_F(IndexBounds, OfQuotients) {
  EXPECT_INDEX(x / k, k == 0 ? 0 : x / k);
  EXPECT_INDEX((x - 20) / k, k == 0 ? 0 : (x - 20) / k);
  EXPECT_INDEX((x - 20) / -3, (x - 20) / -3);
  EXPECT_INDEX(x / (x - 20), x == 20 ? 0 : x / (x - 20));
  EXPECT_INDEX(x % k, k == 0 ? x : x % k);
  EXPECT_INDEX((x - 20) % (k * k + 1), (x - 20) % (k * k + 1));
  EXPECT_INDEX((x - 20) % -7, (x - 20) % -7);
}

TEST_F(IndexBounds, OfAbsoluteValuesAndBits) {
  EXPECT_INDEX(abs(x - 10), std::abs(x - 10));
  EXPECT_INDEX(abs(k - x), std::abs(k - x));
  EXPECT_INDEX(~x, ~x);
  EXPECT_INDEX(x >> (k & 3), x >> (k & 3));
  EXPECT_INDEX((x - 20) >> (x & 3), (x - 20) >> (x & 3));
  EXPECT_INDEX(x & (k * k), x & (k * k));
  EXPECT_INDEX(x | 5, x | 5);
  EXPECT_INDEX(x ^ (k * k), x ^ (k * k));
  EXPECT_INDEX(((x - 20) & ~7) + ((x - 9) | 3), ((x - 20) & ~7) + ((x - 9) | 3));
  EXPECT_INDEX((x - 20) & (k - x), (x - 20) & (k - x));
  EXPECT_INDEX((x - 20) | (k * 5 - x), (x - 20) | (k * 5 - x));
  EXPECT_INDEX((x - 20) ^ (k * 5), (x - 20) ^ (k * 5));
  EXPECT_INDEX((x - 20) << (x & 3), (x - 20) * (1 << (x & 3)));
  EXPECT_INDEX(popcount(x * 7) + select(x < 9, select(x < 3, k, -x), x % 4),
               std::popcount(static_cast<unsigned>(x * 7)) + (x < 9 ? (x < 3 ? k : -x) : x % 4));
}

// Sums of 8 bits wrap around, and a product that is always zero has bounds, too.
TEST_F(IndexBounds, OfNumbersOfFewBits) {
  EXPECT_INDEX(cast<Int>(cast<UInt8>(x * 9) + 200), ((x * 9) + 200) & 255);
  EXPECT_INDEX(cast<Int>(min(cast<UInt8>(x), 30) - 40), (std::min(x, 30) - 40) & 255);
  EXPECT_INDEX(cast<Int>(-cast<Int8>(x * 9)), static_cast<std::int8_t>(-(x * 9)));
  EXPECT_INDEX((min(x, 0) - max(x, 0) + x) * (x - 7), 0);
}

TEST_F(IndexBounds, OfRoundedNumbers) {
  EXPECT_INDEX(cast<Int>(cast<Float>(x) * 0.5f), static_cast<int>(static_cast<float>(x) * 0.5f));
  EXPECT_INDEX(cast<Int>(floor(cast<Float>(x - 20) * 0.3f)),
               static_cast<int>(std::floor(static_cast<float>(x - 20) * 0.3f)));
  EXPECT_INDEX(cast<Int>(floor((cast<Float>(x) + 0.5f) / 3.0f - 0.5f)),
               static_cast<int>(std::floor((static_cast<float>(x) + 0.5f) / 3.0f - 0.5f)));
  EXPECT_INDEX(cast<Int>(cast<Double>(x * 3) / 7.0), static_cast<int>(static_cast<double>(x * 3) / 7.0));
  EXPECT_INDEX(cast<Int>(ceil(10.0f - cast<Float>(x) * cast<Float>(k))), 10 - x * k);
  EXPECT_INDEX(cast<Int>(round(cast<Float>(x - 20) * 0.3f)),
               static_cast<int>(std::round(static_cast<float>(x - 20) * 0.3f)));
  EXPECT_INDEX(cast<Int>(trunc(cast<Float>(x - 20) / 3.0f)) + cast<Int>(round(cast<Double>(k))), (x - 20) / 3 + k);
  EXPECT_INDEX(
      cast<Int>(clamp(sqrt(cast<Float>(in + x)) * 2.5f, 0.5f, 9.0f) * 3.0f),
      static_cast<int>(std::clamp(std::fmax(std::sqrt(static_cast<float>(in + x)) * 2.5f, 0.5f), 0.5f, 9.0f) * 3.0f));
}

// Interval arithmetic, of one integer in several places here.
TEST_F(IndexBounds, OfRoundedNumbersOfSeveralIntegers) {
  EXPECT_INDEX(cast<Int>(cast<Float>(x) * cast<Float>(x - 20) * 0.25f),
               static_cast<int>(static_cast<float>(x) * static_cast<float>(x - 20) * 0.25f));
  EXPECT_INDEX(cast<Int>(cast<Float>(x) * cast<Float>(k * x) - cast<Float>(x / 2)), x * k * x - x / 2);
  EXPECT_INDEX(
      cast<Int>(floor(abs(cast<Float>(x - 20)) - min(cast<Float>(x % 7), 3.5f))),
      static_cast<int>(std::floor(std::abs(static_cast<float>(x - 20)) - std::min(static_cast<float>(x % 7), 3.5f))));
  EXPECT_INDEX(cast<Int>(sqrt(cast<Float>(x * x) + cast<Float>((x - 9) * (x - 9)))),
               static_cast<int>(std::sqrt(static_cast<float>(x * x) + static_cast<float>((x - 9) * (x - 9)))));
  EXPECT_INDEX(cast<Int>(-sqrt(cast<Float>(x + 2)) - 3.0f * select(x < 5, cast<Float>(x), 2.0f)),
               static_cast<int>(-std::sqrt(static_cast<float>(x + 2)) - 3.0f * static_cast<float>(x < 5 ? x : 2)));
  EXPECT_INDEX(cast<Int>(min(sqrt(cast<Float>(x - 20)), cast<Float>(x % 5))),
               static_cast<int>(std::fmin(std::sqrt(static_cast<float>(x - 20)), static_cast<float>(x % 5))));
  EXPECT_INDEX(cast<Int>(cast<Double>(x) / cast<Double>(x + 7) * 30.0),
               static_cast<int>(static_cast<double>(x) / static_cast<double>(x + 7) * 30.0));
  EXPECT_INDEX(cast<Int>(clamp(cast<Float>(x) * 9.0f / cast<Float>(x - 50), -12.5f, 4.0f)),
               static_cast<int>(std::clamp(static_cast<float>(x) * 9.0f / static_cast<float>(x - 50), -12.5f, 4.0f)));
  EXPECT_INDEX(cast<Int>(cast<Float>(x) + clamp(sqrt(cast<Float>(in + 2)), 0.0f, 2.0f) * 8.0f),
               static_cast<int>(static_cast<float>(x) + std::sqrt(static_cast<float>(in + 2)) * 8.0f));
}

// Coordinates that turn by an angle: each depends on two variables.
TEST_F(IndexBounds, OfARotation) {
  constexpr int rows = 19, columns = 23;
  for (const char *place : {"root", "tile", "row", "default"}) {
    const Pipeline p{"p", {"out", "c", "s"}, [&](Array<std::int32_t, 2> out, Float c, Float s) {
                       Var u{"u"}, v{"v"}, y{"y"}, x{"x"}, yo{"yo"}, xo{"xo"}, yi{"yi"}, xi{"xi"};
                       Func<std::int32_t> f{"f"}, g{"g", out};
                       f(u, v) = 100 * u + v;
                       const Float a = cast<Float>(y), b = cast<Float>(x);
                       g(y, x) = f(cast<Int>(floor(c * a - s * b + 0.25f)), cast<Int>(round(s * a + c * b)));
                       if (place == std::string("default")) return;
                       schedule_cpu([&] {
                         if (place == std::string("root")) f.compute_root();
                         if (place == std::string("row")) f.compute_at(g, y);
                         if (place != std::string("tile")) return;
                         g.tile(y, x, yo, xo, yi, xi, 4, 8);
                         f.compute_at(g, xo);
                       });
                     }};
    const Buffer<std::int32_t> out{Device::cpu(), {rows, columns}};
    for (const auto &[c, s] : {std::pair{0.6f, 0.8f}, {-0.8f, 0.6f}, {1.0f, 0.0f}, {0.28f, -0.96f}}) {
      p.launch(out, c, s);
      std::vector<std::int32_t> right;
      // In double, if no sum is near an integer: the sums of the kernel may be rounded differently.
      for (int y = 0; y < rows; ++y)
        for (int x = 0; x < columns; ++x) {
          const double u = static_cast<double>(c) * y - static_cast<double>(s) * x + 0.25,
                       v = static_cast<double>(s) * y + static_cast<double>(c) * x;
          right.push_back(100 * static_cast<int>(std::floor(u)) + static_cast<int>(std::round(v)));
        }
      const std::vector<std::int32_t> found = out.to_vector();
      int differ = 0;
      for (std::size_t i = 0; i < right.size(); ++i) differ += found[i] != right[i];
      EXPECT_LE(differ, 8) << place << ' ' << c;  // at ties
    }
  }
}

// An integer that is loaded, in limits.
TEST_F(IndexBounds, OfAClampedNumber) {
  EXPECT_INDEX(cast<Int>(clamp(cast<Float>(in) * 1.5f, -2.0f, 2.5f)),
               static_cast<int>(std::clamp(static_cast<float>(in) * 1.5f, -2.0f, 2.5f)));
}

TEST_F(IndexBounds, OfPromises) {
  EXPECT_INDEX(promise_clamped(in, -2, 2), in);
  EXPECT_INDEX(promise_clamped(in + x, x - 2, x + 2), in + x);
  EXPECT_INDEX(promise_clamped(in * k, min(2 * k, -2 * k), max(2 * k, -2 * k)) + 1, in * k + 1);
  EXPECT_INDEX(promise_clamped(x, 0, 1000), x);
}

// As much is computed as is promised, and nothing is clamped.
TEST_F(IndexBounds, PromisesAreTrusted) {
  const Pipeline p{"p", {"out", "in"}, [](Array<std::int32_t, 1> out, Array<const std::int32_t, 1> in) {
                     Var i{"i"}, x{"x"};
                     Func<std::int32_t> f{"f"}, g{"g", out};
                     f(i) = 3 * i;
                     g(x) = f(promise_clamped(in(x), -4, 5));
                     schedule_cpu([&] { f.compute_at(g, x); });
                   }};
  EXPECT_THAT(p.loop_nest(), HasSubstr("store f in memory of its task: i32[i 10]"));
  EXPECT_THAT(p.program(), testing::AllOf(testing::Not(HasSubstr("check")), testing::Not(HasSubstr("promise"))));
}

TEST_F(IndexBounds, DebugModeChecksPromises) {
  const unsigned line = __LINE__ + 5;
  const Pipeline p{"p", {"out", "in"}, [](Array<std::int32_t, 1> out, Array<const std::int32_t, 1> in) {
                     Var i{"i"}, x{"x"};
                     Func<std::int32_t> f{"f"}, g{"g", out};
                     f(i) = 3 * i;
                     g(x) = f(promise_clamped(in(x) + 1, 0, 9));
                     schedule_cpu([&] {
                       f.compute_root();
                       g.vectorize(x, 8);
                     });
                   }};
  std::vector<std::int32_t> at(21, 4);
  const Buffer<std::int32_t> out{Device::cpu(), {21}};
  p.launch({.debug = true}, out, Buffer<std::int32_t>{Device::cpu(), {21}, at});
  EXPECT_EQ(out.to_vector(), std::vector<std::int32_t>(21, 15));
  at[17] = 9;
  const Buffer<std::int32_t> wrong{Device::cpu(), {21}, at};
  EXPECT_THAT(message_of<UserError>([&] { p.launch({.debug = true}, out, wrong); }),
              testing::AllOf(HasSubstr("index_bounds_test.cpp:" + std::to_string(line) + ": "),
                             HasSubstr("'g' promises by promise_clamped that the index in(x) + 1 is from 0 to 9, and "
                                       "it is 10")));
  EXPECT_THAT(message_of<UserError>([] { promise_clamped(1, 0, 2); }),
              HasSubstr("promise_clamped is used outside of a pipeline's function"));
}

TEST_F(IndexBounds, BeyondWhat32BitsCount) {
  const Pipeline p{"p", {"out", "k"}, [](Array<std::int32_t, 1> out, Int k) {
                     Var i{"i"}, x{"x"};
                     Func<std::int32_t> f{"f"}, g{"g", out};
                     f(i) = i;
                     g(x) = f(x * k);
                     schedule_cpu([&] { f.compute_root(); });
                   }};
  EXPECT_THAT(message_of<UserError>([&] { p.launch(Buffer<std::int32_t>{Device::cpu(), {5}}, 1 << 30); }),
              HasSubstr("'f' is needed at indices from 0 to 4294967296 along 'i', which 32 bits do not count"));
}

// f0(x / 2) + f0((x + 1) / 2), and so on: a tile of 64 needs 64 / 2^n + 1 elements of the n-th level.
TEST_F(IndexBounds, OfALevelBelowAnother) {
  for (const int levels : {1, 3, 5}) {
    const Pipeline p{"p", {"out"}, [&](Array<std::int32_t, 1> out) {
                       Var x{"x"}, xo{"xo"}, xi{"xi"};
                       std::vector<Func<std::int32_t>> all{Func<std::int32_t>{"f"}};
                       all[0](x) = 3 * x;
                       for (int level = 1; level <= levels; ++level) {
                         const Func<std::int32_t> before = all.back();
                         all.push_back(level == levels ? Func<std::int32_t>{"g", out} : Func<std::int32_t>{"f"});
                         all.back()(x) = before(x / 2) + before((x + 1) / 2);
                       }
                       schedule_cpu([&] {
                         all.back().split(x, xo, xi, 64);
                         for (int level = 0; level < levels; ++level)
                           all[static_cast<std::size_t>(level)].compute_at(all.back(), xo);
                       });
                     }};
    EXPECT_THAT(p.loop_nest(), HasSubstr("store f in memory of its task: i32[x ?], " +
                                         std::to_string((64 >> levels) + 1) + " elements"));
    constexpr int length = 300;
    const Buffer<std::int32_t> out{Device::cpu(), {length}};
    p.launch(out);
    std::vector<std::int32_t> right;
    for (int x = 0; x <= length; ++x) right.push_back(3 * x);
    for (int level = 0; level < levels; ++level) {
      std::vector<std::int32_t> above;
      for (int x = 0; x <= length; ++x)
        above.push_back(right[static_cast<std::size_t>(x / 2)] + right[static_cast<std::size_t>((x + 1) / 2)]);
      right = above;
    }
    right.pop_back();
    EXPECT_EQ(out.to_vector(), right) << levels;
  }
}

// The index of a Func with many dimensions, whose outermost ones form one dimension of its array.
TEST_F(IndexBounds, OfMoreDimensionsThanAnArrayHas) {
  for (const bool reordered : {false, true}) {
    const Pipeline p{"p", {"out"}, [&](Array<std::int32_t, 2> out) {
                       Var a{"a"}, b{"b"}, c{"c"}, d{"d"}, e{"e"}, g{"g"}, y{"y"}, x{"x"};
                       Func<std::int32_t> f{"f"}, result{"result", out};
                       f(a, b, c, d, e, g) = a + 10 * b + 100 * c + 1000 * d + 10'000 * e + 100'000 * g;
                       result(y, x) = f(x - 1, y, x + 2, y + x, 3, y) + f(y, x, x, x, x + y, x);
                       schedule_cpu([&] {
                         f.compute_root();
                         if (reordered) f.reorder_storage(a, c, e, b, d, g).pad(b, 2);
                       });
                     }};
    const Buffer<std::int32_t> out{Device::cpu(), {4, 5}};
    p.launch(out);
    std::vector<std::int32_t> right;
    const auto f = [](int a, int b, int c, int d, int e, int g) {
      return a + 10 * b + 100 * c + 1000 * d + 10'000 * e + 100'000 * g;
    };
    for (int y = 0; y < 4; ++y)
      for (int x = 0; x < 5; ++x) right.push_back(f(x - 1, y, x + 2, y + x, 3, y) + f(y, x, x, x, x + y, x));
    EXPECT_EQ(out.to_vector(), right);
  }
}

// A definition that does not read its own Func may be computed twice.
TEST_F(IndexBounds, OfUpdatesWhoseTailsAreShifted) {
  const Pipeline p{"p", {"out"}, [](Array<std::int32_t, 2> out) {
                     Var y{"y"}, x{"x"};
                     Reduction r{"r", 0, 3};
                     Func<std::int32_t> f{"f", out};
                     f(y, x) = 7;
                     f(r, x) = r * x;
                     schedule_cpu([&] { f.update().vectorize(x, 8, Tail::shift_inwards); });
                   }};
  const Buffer<std::int32_t> out{Device::cpu(), {4, 19}};
  p.launch(out);
  for (std::int64_t y = 0; y < 4; ++y)
    for (std::int64_t x = 0; x < 19; ++x)
      EXPECT_EQ(out.to_vector()[static_cast<std::size_t>(y * 19 + x)], y < 3 ? y * x : 7);
}

}  // namespace
}  // namespace samite::test
