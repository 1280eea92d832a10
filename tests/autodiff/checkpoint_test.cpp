// Loops with limited memory, and the report of the values that an adjoint stores.
#include "tests/autodiff/differentiate.h"
#include "tests/runtime/message_of.h"
#include "tests/runtime/test_device.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace samite::test {
namespace {

using testing::HasSubstr;

using Out = Array<double, 1>;
using In = Array<const double, 1>;

// The gradients of the sum of `out` with respect to `in`, by an adjoint launch under a limit. Inputs are changed by a
// part of themselves.
template <class F>
std::vector<double> gradients(const F &function, std::int64_t n, std::optional<std::int64_t> memory_limit,
                              double change = 0) {
  Device device = test::device();
  Kernel kernel{"limited", {"out", "in"}, function};
  std::vector<double> values = random_values(static_cast<std::size_t>(n), -1, 1, 5);
  for (double &value : values) value *= 1 + change;
  Buffer<double> in(device, {n}, values, Gradient::tracked);
  Buffer<double> out(device, {n}, Gradient::tracked);
  kernel.launch({n}, out, in);
  out.gradient().fill(1);
  kernel.launch({n}, {.direction = Direction::adjoint, .memory_limit = memory_limit}, out, in);
  return in.gradient().to_vector();
}

// How far roundings may move each gradient. Two kernels that are compiled differently contract different products and
// sums, and a loop amplifies that as it does a change of its inputs. No instance here rounds more than two thousand
// times.
template <class F>
std::vector<double> tolerances(const F &function, std::int64_t n, const std::vector<double> &gradient) {
  constexpr double roundings = 2000, change = 0x1p-30, epsilon = std::numeric_limits<double>::epsilon();
  const std::vector<double> changed = gradients(function, n, std::int64_t{1} << 40, change);
  std::vector<double> tolerances;
  for (std::size_t i = 0; i < gradient.size(); ++i) {
    const double amplified = std::abs(changed[i] - gradient[i]) / change;
    tolerances.push_back(roundings * epsilon * (std::abs(gradient[i]) + amplified));
  }
  return tolerances;
}

template <class F>
void expect_the_same_with_checkpoints(const F &function, std::int64_t n = 7) {
  const std::vector<double> all = gradients(function, n, std::int64_t{1} << 40);
  const std::vector<double> tolerance = tolerances(function, n, all);
  for (std::int64_t limit : {std::int64_t{0}, std::int64_t{100}, std::int64_t{1000}}) {
    const std::vector<double> limited = gradients(function, n, limit);
    for (std::size_t i = 0; i < all.size(); ++i)
      EXPECT_NEAR(limited[i], all[i], tolerance[i]) << "with at most " << limit << " B, instance " << i;
  }
}

TEST(Checkpoints, OfALoopOfConstantLength) {
  auto function = [](Out out, In in) {
    Int i = thread_index();
    Double x = in(i), y = 1;
    for (Int k : range(100)) {
      Double next = x + 0.01 * y;
      y -= 0.01 * sin(x) * y;
      x = next;
    }
    out(i) = x * y;
  };
  Kernel kernel{"pendulum", {"out", "in"}, function};
  EXPECT_LT(gradient_error(kernel, 5, random_values(5, -1, 1, 1), 5), 1e-7);
  expect_the_same_with_checkpoints(function);
}

TEST(Checkpoints, OfADynamicLoopWithAStep) {
  expect_the_same_with_checkpoints([](Out out, In in) {
    Int i = thread_index();
    Double x = in(i);
    Int counter = 3;
    for (Int k : range(5 * i + 20, i - 3, -3)) {
      x = x * 0.9 + sin(x) * in((k + 30 + counter) % 7);
      counter += 2;
    }
    out(i) = x;
  });
}

TEST(Checkpoints, OfAWhileLoop) {
  expect_the_same_with_checkpoints([](Out out, In in) {
    Int i = thread_index(), n = i + 27;
    Double x = in(i);
    while_([&] { return n != 1; },
           [&] {
             x = sin(x) * in(n % 7) + x * 0.5;
             n = select(n % 2 == 0, n / 2, 3 * n + 1);
           });
    out(i) = x;
  });
}

TEST(Checkpoints, OfNestedLoopsThatAdvanceALocalArray) {
  expect_the_same_with_checkpoints([](Out out, In in) {
    Int i = thread_index();
    LocalArray<double, 12> chain;
    for (Int k : range(7)) chain(k) = in(k);
    Double scale = 1;
    for (Int step : range(20 + i)) {
      for (Int k : range(1, 6)) chain(k) += 0.1 * chain(k - 1) * chain(k + 1) * scale;
      if_(step % 3 == 0, [&] { chain(0) = chain(0) * chain(3) + scale * 0.1; });
      scale = scale * 0.98 + 0.01 * chain(2);
    }
    out(i) = chain(3) + chain(i) * scale;
  });
}

TEST(Checkpoints, KeepTheSquareRootOfWhatTheLoopRuns) {
  Kernel kernel{"decay", {"out", "in"}, [](Out out, In in) {
                  Int i = thread_index();
                  Double x = in(i);
                  for (Int k : range(10000)) x = x - 0.001 * x * x;
                  out(i) = x;
                }};
  // 8 B x 10,000 are more than 64 KiB.
  auto report = kernel.adjoint_report();
  ASSERT_TRUE(report.bytes().has_value()) << report;
  EXPECT_EQ(*report.bytes(), 8 * (100 + 100)) << report;
  auto unlimited = kernel.adjoint_report(1 << 20);
  EXPECT_EQ(unlimited.bytes(), 80000) << unlimited;
  EXPECT_THAT(report.to_string(), HasSubstr("runs forward 3 times, with checkpoints"));
  EXPECT_THAT(unlimited.to_string(), testing::Not(HasSubstr("checkpoints")));
}

// Lengths around those of a chunk, of the limit and of whole numbers of chunks.
TEST(Checkpoints, OfLoopsOfEachLength) {
  auto function = [](auto step) {
    return [=](Out out, In in) {
      Int i = thread_index();
      Double x = in(i), y = 1;
      LocalArray<double, 2> last{0.5, 0.25};
      step(i, [&](const Int &k) {
        x = 0.7 * x + sin(x * y) * last(k % 2);
        if_(k % 3 != 1, [&] { last(k % 2) = x * last((k + 1) % 2) + 0.1; });
        y = y * 0.99;
      });
      out(i) = x + last(0);
    };
  };
  auto range_of = [](const Int &i, const auto &body) {
    for (Int k : range(i)) body(k);
  };
  auto while_of = [](const Int &i, const auto &body) {
    Int k = 0;
    Double left = 0.5 + cast<Double>(i);
    while_([&] { return left > 1; },
           [&] {
             body(k);
             left -= 1, k += 1;
           });
  };
  expect_the_same_with_checkpoints(function(range_of), 30);
  expect_the_same_with_checkpoints(function(while_of), 30);
}

// Before it runs: with a value of two billion iterations for each instance there is no memory.
TEST(Checkpoints, AreWhatTheLaunchOfALoopThatKeepsTooMuchIsToldOf) {
  SAMITE_ON_THE_CPU();
  std::uint32_t line = 0;
  Kernel kernel{"endless", {"out", "in", "n"}, [&](Out out, In in, const Int &n) {
                  Int i = thread_index();
                  Double x = in(i);
                  line = __LINE__ + 1;
                  for (Int k : range(n)) x = sin(x);
                  out(i) = x;
                }};
  Device device = Device::cpu();
  Buffer<double> in(device, {2}, Gradient::tracked), out(device, {2}, Gradient::tracked);
  const LaunchOptions unlimited{.direction = Direction::adjoint, .memory_limit = std::int64_t{1} << 50};
  const std::string message = message_of<DeviceError>([&] { kernel.launch({2}, unlimited, out, in, 2'000'000'000); });
  EXPECT_THAT(message, HasSubstr("kernel 'endless' (adjoint): allocating "));
  EXPECT_THAT(message, HasSubstr("bytes on cpu for the local array, or what the adjoint"));
  EXPECT_THAT(message, HasSubstr("keeps of the loop, at"));
  EXPECT_THAT(message, HasSubstr("checkpoint_test.cpp:" + std::to_string(line)));
  EXPECT_THAT(message, HasSubstr("out of memory; with a LaunchOptions::memory_limit of less than 1125899906842624 "
                                 "bytes loops keep fewer values"));
}

// Two chunks of a loop that overwrites an array of 8 MiB in each of two billion iterations, too.
TEST(Checkpoints, OfALoopThatKeepsArrays) {
  SAMITE_ON_THE_CPU();
  Kernel kernel{"arrays", {"out", "in", "n"}, [&](Out out, In in, const Int &n) {
                  LocalArray<double, 1 << 20> all;
                  for ([[maybe_unused]] Int k : range(n))
                    for (Int j : range(1, 1 << 20)) all(j) = sin(all(j - 1)) * in(0);
                  out(0) = all(1);
                }};
  Device device = Device::cpu();
  Buffer<double> in(device, {2}, Gradient::tracked), out(device, {2}, Gradient::tracked);
  EXPECT_THAT(
      message_of<DeviceError>([&] { kernel.launch({1}, {.direction = Direction::adjoint}, out, in, 2'000'000'000); }),
      HasSubstr("out of memory; with a LaunchOptions::memory_limit of less than 65536 bytes"));
}

// Its length shows when it has run.
TEST(Checkpoints, HoldForALoopWithoutABound) {
  Kernel kernel{"collatz", {"out", "in"}, [](Out out, In in) {
                  Int i = thread_index(), n = i + 27;
                  Double x = in(i);
                  while_([&] { return n != 1; },
                         [&] {
                           x = sin(x) + x * 0.5;
                           n = select(n % 2 == 0, n / 2, 3 * n + 1);
                         });
                  out(i) = x;
                }};
  const std::string text = kernel.adjoint_report(64).to_string();
  EXPECT_THAT(text, HasSubstr("8 B x checkpoints of the loop"));
  EXPECT_THAT(text, HasSubstr("runs forward 3 times; beyond 8 iterations 4 times, with checkpoints"));
  EXPECT_THAT(kernel.adjoint_report().to_string(), HasSubstr("beyond 8192 iterations 4 times, with checkpoints"));
}

TEST(AdjointReport, NamesWhatIsKeptAndHowOftenLoopsRun) {
  std::uint32_t line = 0;
  Kernel kernel{"decay", {"out", "in"}, [&](Out out, In in) {
                  Int i = thread_index();
                  Double x = in(i);
                  line = __LINE__ + 1;
                  for (Int k : range(in.extent(0))) x = x - 0.001 * x * x;
                  out(i) = x;
                }};
  auto report = kernel.adjoint_report();
  ASSERT_EQ(report.kept.size(), 2u) << report;
  EXPECT_EQ(report.bytes(), std::nullopt) << "the number of iterations is not known";
  const std::string text = report.to_string();
  const std::string place = "checkpoint_test.cpp:" + std::to_string(line);
  EXPECT_THAT(text, HasSubstr("adjoint of kernel 'decay'"));
  EXPECT_THAT(text, HasSubstr("f64, 8 B x iterations of a chunk of the loop at"));
  EXPECT_THAT(text, HasSubstr(place));
  EXPECT_THAT(text, HasSubstr("runs forward 2 times; beyond 8192 iterations 3 times, with checkpoints"));
}

TEST(AdjointReport, NamesArraysFromBeforeTheLaunch) {
  Kernel kernel{"square", {"x"}, [](Array<double, 1> x) {
                  Int i = thread_index();
                  x(i) *= x(i);
                }};
  EXPECT_THAT(kernel.adjoint_report().to_string(), HasSubstr("needs the elements of array 'x' from before the launch"));
}

TEST(AdjointReport, IsThatOfALaunch) {
  Kernel kernel{"copy", {"y", "x"}, [](Out y, In x) {
                  Int i = thread_index();
                  y(i) = x(i);
                }};
  Buffer<double> x(test::device(), {2}, Gradient::tracked), y(test::device(), {2}, Gradient::tracked);
  EXPECT_EQ(kernel.record({2}, {.direction = Direction::adjoint}, y, x).adjoint_report().bytes(), 0);
  EXPECT_THAT(message_of<UserError>([&] { kernel.record({2}, y, x).adjoint_report(); }),
              HasSubstr("record it with Direction::adjoint"));
}

}  // namespace
}  // namespace samite::test
