// Tiles from and to code about one thread.
#include "tests/tiles/reference.h"

#include <gmock/gmock.h>

namespace samite::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr TileOptions of_32{.threads = 32};

// Rows of different lengths, one a thread, as a kernel of threads would add them up.
TEST(TileThreads, EachHasALoopOfItsOwn) {
  TileKernel rows{"rows",
                  {"y", "x", "first"},
                  [](Array<double, 1> y, Array<const double, 1> x, Array<const std::int32_t, 1> first) {
                    Int block = block_index();
                    auto sums = tile::per_thread([&](Int thread) {
                      const Int row = block * 32 + thread;
                      Double sum = 0;
                      if_(row < y.extent(0), [&] {
                        for (Int k : range(first(row), first(row + 1))) sum += x(k) * x(k);
                      });
                      return sum;
                    });
                    tile::store(y, {block}, sums);
                  },
                  of_32};
  const int count = 45;
  std::vector<std::int32_t> first{0};
  for (int row = 0; row < count; ++row) first.push_back(first.back() + row * 7 % 5);
  const std::vector<double> values = numbers(first.back());
  Buffer<std::int32_t> starts(device(), {count + 1}, first);
  auto x = buffer<double>({first.back()}, values, Gradient::tracked);
  auto y = poisoned<double>({count}, Gradient::tracked);
  rows.launch({2}, y, x, starts);
  std::vector<double> expected(count);
  for (std::size_t row = 0; row < count; ++row)
    for (auto k = static_cast<std::size_t>(first[row]); k < static_cast<std::size_t>(first[row + 1]); ++k)
      expected[row] += values[k] * values[k];
  expect_near(y, expected, 1e-12);
  const GradientReport report = gradcheck(rows, {2}, y, x, starts);
  EXPECT_TRUE(report.passed) << report;
}

// Newton's method, which ends for each element when it has converged.
TEST(TileThreads, EachLeavesALoopWhenItIsDone) {
  TileKernel roots{
      "roots", {"y", "steps", "x"}, [](Array<double, 1> y, Array<std::int32_t, 1> steps, Array<const double, 1> x) {
        auto values = tile::load(x, {0}, {5});
        auto found = tile::per_thread(values, [&](Int i, Double a) {
          Double root = a;
          Int step = 0;
          while_([&] { return abs(root * root - a) > 1e-9 * a && step < 60; },
                 [&] {
                   root = 0.5 * (root + a / root);
                   step += 1;
                 });
          steps(i) = step;
          return root;
        });
        tile::store(y, {0}, found);
      }};
  const std::vector<double> values{1, 4, 1e6, 0.25, 3};
  auto x = buffer<double>({5}, values, Gradient::tracked);
  auto y = poisoned<double>({5}, Gradient::tracked);
  auto steps = poisoned<std::int32_t>({5});
  roots.launch({1}, y, steps, x);
  std::vector<double> expected;
  std::vector<std::int32_t> expected_steps;
  for (double a : values) {
    double root = a;
    int step = 0;
    while (std::abs(root * root - a) > 1e-9 * a && step < 60) root = 0.5 * (root + a / root), ++step;
    expected.push_back(std::sqrt(a));
    expected_steps.push_back(step);
  }
  expect_near(y, expected, 1e-5);
  EXPECT_EQ(steps.to_vector(), expected_steps);
  y.gradient().fill(1);
  roots.launch({1}, {.direction = Direction::adjoint}, y, steps, x);
  const std::vector<double> gradient = x.gradient().to_vector();
  for (std::size_t i = 1; i < 5; ++i) EXPECT_NEAR(gradient[i], 0.5 / std::sqrt(values[i]), 1e-3 / std::sqrt(values[i]));
}

// Elements that do not take a side do not affect its gradient, even if its derivative is infinite.
TEST(TileThreads, EachGoesToItsSideOfABranch) {
  TileKernel sides{"sides", {"y", "x"}, [](Array<double, 1> y, Array<const double, 1> x) {
                     auto made = tile::per_thread({6}, [&](Int i) {
                       Double a = x(i), result = -1;
                       if_(
                           a > 0,
                           [&] { if_(a > 1, [&] { result = log(a - 1) / (a - 1); }, [&] { result = sqrt(a); }); },
                           [&] { result = pow(-a, 1.5); });
                       return result;
                     });
                     tile::store(y, {0}, made);
                   }};
  const std::vector<double> values{-2, 0, 0.25, 0.5, 1.5, 4};
  auto x = buffer<double>({6}, values, Gradient::tracked);
  auto y = poisoned<double>({6}, Gradient::tracked);
  sides.launch({1}, y, x);
  std::vector<double> expected, slopes;
  for (double a : values) {
    const double b = a - 1;
    expected.push_back(a <= 0 ? std::pow(-a, 1.5) : a > 1 ? std::log(b) / b : std::sqrt(a));
    slopes.push_back(a <= 0 ? -1.5 * std::sqrt(-a) : a > 1 ? (1 - std::log(b)) / (b * b) : 0.5 / std::sqrt(a));
  }
  expect_near(y, expected, 1e-12);
  y.gradient().fill(1);
  sides.launch({1}, {.direction = Direction::adjoint}, y, x);
  const std::vector<double> gradient = x.gradient().to_vector();
  for (std::size_t i = 0; i < slopes.size(); ++i) EXPECT_NEAR(gradient[i], slopes[i], 1e-12) << values[i];
}

TEST(TileThreads, AreHandedElements) {
  TileKernel back{"back",
                  {"y", "histogram", "x"},
                  [](Array<double, 2> y, Array<std::int32_t, 1> histogram, Array<const double, 2> x) {
                    auto t = tile::load(x, {0, 0}, {3, 5});
                    tile::per_thread(t * 2, [&](Int i, Int j, Double value) {
                      if_(value > 0, [&] { y(j, i) = value + cast<Double>(10 * i + j); });
                      atomic_add(histogram(select(value > 0, Int(1), Int(0))), 1);
                    });
                  }};
  const Matrix x(3, 5, 3);
  auto y = buffer<double>({5, 3}, std::vector<double>(15, 99), Gradient::tracked);
  auto input = buffer<double>({3, 5}, x.values, Gradient::tracked);
  auto histogram = buffer<std::int32_t>({2}, {0, 0});
  back.launch({1}, y, histogram, input);
  std::vector<double> expected(15, 99);
  std::int32_t positive = 0;
  for (std::int64_t i = 0; i < 3; ++i)
    for (std::int64_t j = 0; j < 5; ++j)
      if (x(i, j) > 0)
        expected[static_cast<std::size_t>(3 * j + i)] = 2 * x(i, j) + static_cast<double>(10 * i + j), ++positive;
  expect_near(y, expected, 1e-12);
  EXPECT_THAT(histogram.to_vector(), ElementsAre(15 - positive, positive));
  auto fresh = buffer<std::int32_t>({2}, {0, 0});
  const GradientReport report = gradcheck(back, {1}, y, fresh, input);
  EXPECT_TRUE(report.passed) << report;
}

// Vectors and functions of a kernel of threads are those of this code, too.
TEST(TileThreads, UseWhatKernelsUse) {
  TileKernel norms{"norms", {"y", "x", "scale"}, [](Array<double, 1> y, Array<const double, 2> x, Double scale) {
                     auto lengths = tile::per_thread({4}, [&](Int i) {
                       Vector<Double, 3> v{x(i, 0), x(i, 1), x(i, 2)};
                       return norm(v) * scale;
                     });
                     tile::store(y, {0}, lengths * tile::sum(lengths));
                   }};
  auto x = buffer<double>({4, 3}, numbers(12), Gradient::tracked);
  auto y = poisoned<double>({4}, Gradient::tracked);
  const GradientReport report = gradcheck(norms, {1}, y, x, 2.0);
  EXPECT_TRUE(report.passed) << report;
  norms.launch({1}, y, x, 2.0);
  const auto values = numbers(12);
  std::vector<double> expected;
  double sum = 0;
  for (std::size_t i = 0; i < 4; ++i) {
    expected.push_back(2 * std::hypot(values[3 * i], values[3 * i + 1], values[3 * i + 2]));
    sum += expected.back();
  }
  for (double &value : expected) value *= sum;
  expect_near(y, expected, 1e-12);
}

// A tuple of numbers of two types, and the derivatives through each.
TEST(TileThreads, ReturnSeveralNumbers) {
  const std::vector<double> values = numbers(8);
  const TileKernel polar{
      "polar", {"y", "which", "x"}, [](Array<double, 1> y, Array<std::int32_t, 1> which, Array<const double, 1> x) {
        const auto a = tile::load(x, {0}, {4}), b = tile::load(x, {1}, {4});
        const auto [length, angle] =
            tile::map([](Double u, Double v) { return std::tuple(sqrt(u * u + v * v), atan2(v, u)); }, a, b);
        const auto [larger, place] = tile::per_thread(
            {4}, [&](Int i) { return std::tuple(max(x(i), x(i + 4)), select(x(i + 4) > x(i), i + 4, i)); });
        tile::store(y, {0}, length * 2 + angle + larger);
        tile::store(which, {0}, place);
      }};
  auto x = buffer<double>({8}, values, Gradient::tracked);
  auto y = poisoned<double>({4}, Gradient::tracked);
  Buffer<std::int32_t> which(device(), {4});
  polar.launch({1}, y, which, x);
  std::vector<double> expected;
  std::vector<std::int32_t> places;
  for (std::size_t i = 0; i < 4; ++i) {
    const double u = values[i], v = values[4 + i];
    expected.push_back(2 * std::hypot(u, v) + std::atan2(v, u) + std::max(u, v));
    places.push_back(static_cast<std::int32_t>(v > u ? i + 4 : i));
  }
  expect_near(y, expected, 1e-12);
  EXPECT_EQ(which.to_vector(), places);
  const GradientReport report = gradcheck(polar, {1}, y, which, x);
  EXPECT_TRUE(report.passed) << report;
}

// Outside of an array, and in a loop with a common length.
TEST(TileThreads, ReadZeroOutside) {
  TileKernel sums{"sums",
                  {"y", "x"},
                  [](Array<float, 1> y, Array<const float, 1> x) {
                    tile::store(y, {0}, tile::per_thread([&](Int i) {
                                  Float sum = 0;
                                  for (Int k : range(-1, 2)) sum += x(i + k);
                                  return sum;
                                }));
                  },
                  of_32};
  const auto values = numbers(10);
  auto y = poisoned<float>({32});
  sums.launch({1}, y, buffer<float>({10}, values));
  std::vector<double> expected(32);
  for (int i = 0; i < 32; ++i)
    for (int k = i - 1; k <= i + 1; ++k) expected[i] += k >= 0 && k < 10 ? values[k] : 0;
  expect_near(y, expected, 0);
}

template <class F>
std::string refusal(F code) {
  return message_of<UserError>([&] { TileKernel wrong{"wrong", [&](Array<float, 1> x) { code(x); }, of_32}; });
}

TEST(TileThreadsErrors, JumpsAndWhatElseOneThreadAloneMayDo) {
  const std::string jump = refusal([](auto x) {
    tile::per_thread(tile::load(x, {0}, {4}), [&](Int i, Float) {
      for (Int k : range(i)) if_(k == 2, [] { break_(); });
    });
  });
  EXPECT_THAT(jump, HasSubstr("break_, continue_ and return_"));
  EXPECT_THAT(jump, HasSubstr("while_"));
  EXPECT_THAT(jump, HasSubstr("threads_test.cpp"));
  EXPECT_THAT(refusal([](auto) { tile::per_thread([&](Int i) { print("i = ", i); }); }),
              HasSubstr("print in tile::per_thread"));
  EXPECT_THAT(refusal([](auto) { tile::per_thread([&](Int i) { check(i < 3, "i is ", i); }); }),
              HasSubstr("check in tile::per_thread"));
  EXPECT_THAT(refusal([](auto) {
                tile::per_thread([&](Int i) {
                  LocalArray<float, 3> own;
                  own(i % 3) = 1;
                });
              }),
              HasSubstr("a local array in tile::per_thread"));
  EXPECT_THAT(refusal([](auto x) {
                tile::per_thread([&](Int i) { return cast<Float>(i) + tile::sum(tile::load(x, {0}, {4})); });
              }),
              HasSubstr("an operation on a tile in tile::per_thread"));
}

// Atomics whose result is used, and those without a form for whole tiles.
TEST(TileThreadsErrors, AtomicsThatGiveTheElementBefore) {
  const auto expect = [](const std::string &message, int line) {
    EXPECT_THAT(message, HasSubstr("threads_test.cpp:" + std::to_string(line) + ":"));
    EXPECT_THAT(message, HasSubstr("an atomic operation that gives the element before in tile::per_thread"));
    EXPECT_THAT(message, HasSubstr("in a Kernel, whose function is about one thread"));
  };
  expect(refusal([](auto x) { tile::per_thread([&](Int i) { return atomic_add(x(i), 1.0f); }); }), __LINE__);
  expect(refusal([](auto x) { tile::per_thread([&](Int i) { atomic_max(x(i), 1.0f); }); }), __LINE__);
  expect(refusal([](auto x) { tile::per_thread([&](Int i) { atomic_exchange(x(i), 1.0f); }); }), __LINE__);
}

TEST(TileThreadsErrors, AdjointsOfTheUsersOwn) {
  const auto expect = [](const std::string &message, int line) {
    EXPECT_THAT(message, HasSubstr("threads_test.cpp:" + std::to_string(line) + ":"));
    EXPECT_THAT(message, HasSubstr("an adjoint of the user's own in tile::per_thread"));
    EXPECT_THAT(message, HasSubstr("in a Kernel, whose function is about one thread"));
  };
  const auto root = custom_adjoint([](Float a) { return sqrt(a); },
                                   [](Float, Float y, Float cotangent) { return cotangent / max(2 * y, 0.1f); });
  expect(refusal([&](auto x) { tile::per_thread([&](Int i) { return root(x(i)); }); }), __LINE__);
  const auto slope = adjoint_of([](Float a) { return a * a; });
  expect(refusal([&](auto x) { tile::per_thread([&](Int i) { return slope(x(i), Float(1)); }); }), __LINE__);
}

TEST(TileThreadsErrors, NumbersOfTheBlock) {
  EXPECT_THAT(refusal([](auto x) {
                Float sum = 0;
                tile::per_thread([&](Int i) { sum += x(i); });
              }),
              HasSubstr("assigning a number of the block in tile::per_thread"));
}

TEST(TileThreadsErrors, AsManyIndicesAsDimensions) {
  EXPECT_THAT(refusal([](auto) { tile::per_thread({4, 8}, [](Int i) { return i; }); }),
              HasSubstr("extents 4x8 with a function of 1 indices"));
}

TEST(TileThreadsErrors, InAKernelOfThreads) {
  EXPECT_THAT(message_of<UserError>([] {
                Kernel wrong{"wrong",
                             [](Array<float, 1> x) { x(0) = 0, tile::per_thread({4}, [](Int i) { return i; }); }};
              }),
              HasSubstr("about one thread already"));
}

}  // namespace
}  // namespace samite::test
