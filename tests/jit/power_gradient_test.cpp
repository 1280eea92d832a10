// Gradients of powers, at zero and for exponents 0 and 1 too.
#include "samite/samite.h"
#include "tests/jit/on_device.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace samite {
namespace {

using test::on_device::device;
constexpr double infinity = std::numeric_limits<double>::infinity();

struct Case {
  double x, exponent, first, second;
};
const std::vector<Case> power_cases{{0, 0, 0, 0},    {0, 1, 1, 0},          {0, 2, 0, 2},
                                    {0, 3, 0, 0},    {0, -1, -infinity, 0}, {3, 0, 0, 0},
                                    {3, 1, 1, 0},    {3, 2, 6, 2},          {3, -1, -1.0 / 9, 2.0 / 27},
                                    {-2, 0, 0, 0},   {-2, 1, 1, 0},         {-2, 3, 12, -12},
                                    {-0.0, 0, 0, 0}, {-0.0, 1, 1, 0}};

// The derivatives by x of `power(x, n)`, the first and the second one, for all cases.
template <class K>
void expect_derivatives(const K &kernel) {
  const auto count = static_cast<std::int64_t>(power_cases.size());
  std::vector<double> points, ones(power_cases.size(), 1.0);
  std::vector<std::int32_t> exponents;
  for (const Case &each : power_cases) points.push_back(each.x), exponents.push_back(static_cast<int>(each.exponent));
  Buffer<double> x{device, {count}, points, Gradient::tracked}, y{device, {count}, Gradient::tracked};
  Buffer<std::int32_t> n{device, {count}, exponents};
  y.gradient().copy_from(ones);
  kernel.launch({count}, {.direction = Direction::adjoint}, y, x, n);
  const auto first = x.gradient().to_vector();
  for (std::size_t i = 0; i < power_cases.size(); ++i)
    EXPECT_DOUBLE_EQ(first[i], power_cases[i].first) << power_cases[i].x << " ^ " << power_cases[i].exponent;

  Buffer<double> y_bar{device, {count}, ones, Gradient::tracked}, x_bar{device, {count}, Gradient::tracked};
  x.gradient().copy_from(ones);
  y.zero_gradient(), y_bar.zero_gradient();
  kernel.adjoint().launch({count}, {.direction = Direction::tangent}, y, x, n, y_bar, x_bar);
  const auto second = x_bar.gradient().to_vector();
  for (std::size_t i = 0; i < power_cases.size(); ++i) {
    if (!std::isfinite(power_cases[i].first)) continue;
    EXPECT_DOUBLE_EQ(second[i], power_cases[i].second) << power_cases[i].x << " ^ " << power_cases[i].exponent;
  }
}

TEST(PowerGradient, OfIntegerAndOfFloatingExponents) {
  expect_derivatives(Kernel{
      "by_integers", {"y", "x", "n"}, [](Array<double, 1> y, Array<const double, 1> x, Array<const std::int32_t, 1> n) {
        Int i = thread_index();
        Int exponent = n(i);
        y(i) = pow(x(i), cast<Double>(exponent));
      }});
}

TEST(PowerGradient, OfConstantExponents) {
  Kernel kernel{"constants", {"y", "x"}, [](Array<double, 2> y, Array<const double, 1> x) {
                  Int i = thread_index();
                  for (int n = 0; n < 4; ++n) y(i, n) = pow(x(i), Double(n));
                }};
  Buffer<double> x{device, {2}, {0, 3}, Gradient::tracked}, y{device, {2, 4}, Gradient::tracked};
  const double expected[2][4] = {{0, 1, 0, 0}, {0, 1, 6, 27}};
  for (std::int64_t n = 0; n < 4; ++n) {
    x.zero_gradient(), y.zero_gradient();
    y.gradient().set({0, n}, 1), y.gradient().set({1, n}, 1);
    kernel.launch({2}, {.direction = Direction::adjoint}, y, x);
    for (std::int64_t i = 0; i < 2; ++i) EXPECT_DOUBLE_EQ(x.gradient().at(i), expected[i][n]) << i << ' ' << n;
  }
}

// With respect to the exponent: zero if x is.
TEST(PowerGradient, ByTheExponent) {
  Kernel kernel{"exponents", {"y", "n"}, [](Array<double, 1> y, Array<const double, 1> n) {
                  Int i = thread_index();
                  y(i) = pow(select(i < 2, Double(0), Double(2)), n(i));
                }};
  Buffer<double> n{device, {4}, {0, 2, 0, 2}, Gradient::tracked}, y{device, {4}, Gradient::tracked};
  y.gradient().fill(1);
  kernel.launch({4}, {.direction = Direction::adjoint}, y, n);
  const double expected[] = {0, 0, std::log(2), 4 * std::log(2)};
  for (std::int64_t i = 0; i < 4; ++i) EXPECT_DOUBLE_EQ(n.gradient().at(i), expected[i]) << i;
}

}  // namespace
}  // namespace samite
