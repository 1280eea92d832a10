#include "tests/codegen/range_ends.h"
#include "tests/runtime/test_device.h"

#include <gtest/gtest.h>

namespace samite::test {
namespace {

using R = RangeEnds;

constexpr int cases = 37;

// One launch: forward and adjoint, compared with exact arithmetic.
template <class T, class K>
void expect_exact(const K &kernel, const std::vector<T> &bounds, std::int64_t instances, int most = 0) {
  const Device device = test::device();
  const std::int64_t rows = static_cast<std::int64_t>(bounds.size()) / 2 / R::step_count;
  Buffer<T> ranges(device, {rows, R::step_count, 2}, bounds);
  Buffer<double> x(device, {instances, R::step_count}, Gradient::tracked);
  Buffer<double> out(device, {instances, R::step_count, R::results}, Gradient::tracked);
  x.fill(1.25);
  std::vector<double> gradient, seed;
  const std::vector<double> expected = R::expected(bounds, most, 1.25, gradient);
  kernel.launch({instances}, out, x, ranges);
  for (std::int64_t i = 0; i < instances * R::step_count; ++i) seed.insert(seed.end(), {0, 0, 1});
  out.gradient().copy_from(seed);
  kernel.launch({instances}, {.direction = Direction::adjoint}, out, x, ranges);
  const std::vector<double> got = out.to_vector(), got_gradient = x.gradient().to_vector();
  for (std::size_t i = 0; i < got_gradient.size(); ++i) {
    const std::size_t at = i % gradient.size();
    const auto where = [&] {
      return ::testing::Message() << "range(" << bounds[2 * at] << ", " << bounds[2 * at + 1] << ", "
                                  << R::steps[at % R::step_count] << "), instance " << i / R::step_count;
    };
    ASSERT_EQ(got[3 * i], expected[3 * at]) << where();
    ASSERT_EQ(got[3 * i + 1], expected[3 * at + 1]) << where();
    ASSERT_NEAR(got[3 * i + 2], expected[3 * at + 2], 1e-9 * (1 + std::abs(expected[3 * at + 2]))) << where();
    ASSERT_NEAR(got_gradient[i], gradient[at], 1e-9 * (1 + std::abs(gradient[at]))) << where();
  }
}

template <class T>
class RangeEndsOf : public testing::Test {};
using Types = testing::Types<std::int32_t, std::int64_t>;
TYPED_TEST_SUITE(RangeEndsOf, Types);

TYPED_TEST(RangeEndsOf, InstancesWithRangesOfTheirOwn) {
  const auto kernel = R::of_instances<TypeParam>();
  for (unsigned seed = 0; seed < 20; ++seed) {
    expect_exact(kernel, R::bounds<TypeParam>(cases, seed), cases);
    if (this->HasFatalFailure()) return;
  }
}

TYPED_TEST(RangeEndsOf, InstancesWithTheSameRanges) {
  const auto kernel = R::of_launch<TypeParam>();
  for (unsigned seed = 0; seed < 200; ++seed) {
    expect_exact(kernel, R::bounds<TypeParam>(1, seed), 1 + seed % 19);
    if (this->HasFatalFailure()) return;
  }
}

// The ranges may be as long as their type allows.
TYPED_TEST(RangeEndsOf, LoopsThatAreLeft) {
  const auto kernel = R::of_instances<TypeParam>(5);
  for (unsigned seed = 0; seed < 20; ++seed) {
    std::vector<TypeParam> bounds = R::bounds<TypeParam>(cases, seed);
    using Limits = std::numeric_limits<TypeParam>;
    for (std::size_t i = 0; i < bounds.size(); i += 10)
      bounds[i] = R::steps[i / 2 % R::step_count] > 0 ? Limits::min() : Limits::max();
    for (std::size_t i = 1; i < bounds.size(); i += 14)
      bounds[i] = R::steps[i / 2 % R::step_count] > 0 ? Limits::max() : Limits::min();
    expect_exact(kernel, bounds, cases, 5);
    if (this->HasFatalFailure()) return;
  }
}

// f = product of x over the iterations.
template <class From, class To>
double gradient_of_power(const From &from, const To &to, int step) {
  const Kernel power{"power", [&](Array<double, 1> y, Array<const double, 1> x) {
                       Double value = 1.;
                       for (auto k : range(from, to, step)) {
                         (void)k;
                         value = value * x(0);
                       }
                       y(thread_index()) = value;
                     }};
  Buffer<double> x(test::device(), {1}, {2.}, Gradient::tracked), y(test::device(), {1}, Gradient::tracked);
  power.launch({1}, y, x);
  y.gradient().fill(1);
  power.launch({1}, {.direction = Direction::adjoint}, y, x);
  return x.gradient().to_vector()[0];
}

TEST(RangeEnds, ConstantBoundsFurtherApartThanTheLargestNumber) {
  EXPECT_EQ(gradient_of_power(-2'000'000'000, 2'000'000'000, 1'000'000'000), 4 * 8);
  EXPECT_EQ(gradient_of_power(2'000'000'000, -2'000'000'000, -1'000'000'000), 4 * 8);
}

// Debug mode checks the places of the values that are stored for each iteration.
TEST(RangeEnds, WhatConstantBoundsFarApartKeepHasPlaces) {
  set_debug_mode(true);
  EXPECT_EQ(gradient_of_power(-2'000'000'000, 2'000'000'000, 1'000'000'000), 4 * 8);
  EXPECT_EQ(gradient_of_power(2'000'000'000, -2'000'000'000, -1'000'000'000), 4 * 8);
  EXPECT_EQ(gradient_of_power(-1'500'000'000, 1'500'000'000, 700'000'000), 5 * 16);
  set_debug_mode(false);
}

TEST(RangeEnds, ConstantBoundsAtTheEndsOfTheType) {
  constexpr int most = std::numeric_limits<int>::max(), least = std::numeric_limits<int>::min();
  EXPECT_EQ(gradient_of_power(most - 3, most, 2), 2 * 2);
  EXPECT_EQ(gradient_of_power(least + 3, least, -2), 2 * 2);
  EXPECT_EQ(gradient_of_power(least, least + 2, 1), 2 * 2);
  EXPECT_EQ(gradient_of_power(most, most - 2, -1), 2 * 2);
  EXPECT_EQ(gradient_of_power(least, most, 2'000'000'000), 3 * 4);
  EXPECT_EQ(gradient_of_power(0, least, 1), 0);
}

// A memory limit of zero keeps only some iterations, and runs the others again.
TEST(RangeEnds, LoopsWithCheckpoints) {
  const Kernel kernel{
      "power", {"y", "x", "from", "to"}, [](Array<double, 1> y, Array<const double, 1> x, Int from, Int to) {
        Double value = 1.;
        for (Int k : range(from, to, 3)) value = sin(value) * x(0) + cast<Double>(k) * 1e-10;
        y(thread_index()) = value;
      }};
  constexpr int most = std::numeric_limits<int>::max(), least = std::numeric_limits<int>::min();
  const std::pair<int, int> ranges[] = {{most - 100, most}, {least, least + 77}, {-40, 23}, {5, least}};
  for (const auto &[from, to] : ranges) {
    double value = 1, derivative = 0;
    for (std::int64_t k = from; k < to; k += 3) {
      derivative = std::cos(value) * derivative * 1.1 + std::sin(value);
      value = std::sin(value) * 1.1 + static_cast<double>(k) * 1e-10;
    }
    Buffer<double> x(test::device(), {1}, {1.1}, Gradient::tracked), y(test::device(), {1}, Gradient::tracked);
    kernel.launch({1}, y, x, from, to);
    EXPECT_NEAR(y.to_vector()[0], value, 1e-12);
    y.gradient().fill(1);
    kernel.launch({1}, {.direction = Direction::adjoint, .memory_limit = 0}, y, x, from, to);
    EXPECT_NEAR(x.gradient().to_vector()[0], derivative, 1e-9 * (1 + std::abs(derivative))) << from << " to " << to;
  }
}

// Each element of a tile has its own range.
TEST(RangeEnds, ThreadsOfATile) {
  constexpr int most = std::numeric_limits<int>::max(), least = std::numeric_limits<int>::min();
  const std::vector<int> from{most - 3, most - 8, 0, least, most, -2, least, 1};
  const std::vector<int> to{most, most, 4, least + 5, least, 5, least, 0};
  std::vector<int> expected;
  for (std::size_t i = 0; i < from.size(); ++i) {
    expected.push_back(0);
    for (std::int64_t k = from[i]; k < to[i]; k += 2) ++expected.back();
  }
  const TileKernel count{
      "count", {"out", "from", "to"}, [](Array<int, 1> out, Array<const int, 1> from, Array<const int, 1> to) {
        tile::per_thread({8}, [&](Int i) {
          Int n = 0;
          for (Int k : range(from(i), to(i), 2)) {
            (void)k;
            n = n + 1;
          }
          out(i) = n;
        });
      }};
  const Device device = test::device();
  Buffer<int> begin(device, {8}, from), end(device, {8}, to), out(device, {8});
  count.launch({1}, out, begin, end);
  EXPECT_EQ(out.to_vector(), expected);
}

}  // namespace
}  // namespace samite::test
