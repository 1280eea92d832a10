// A tangent of zero stays zero if a derivative is infinite or NaN, like a zero cotangent in the adjoint, which a gate
// stops.

#include "samite/samite.h"
#include "tests/runtime/test_device.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace samite::test {
namespace {

struct Clamped {
  const char *name;
  Double (*function)(const Double &);  // of an x clamped to a point with an infinite derivative
  double at;
};

void PrintTo(const Clamped &clamped, std::ostream *stream) { *stream << clamped.name; }

const Clamped clamped_functions[] = {
    {"acos", [](const Double &x) { return acos(clamp(x, -1, 1)); }, 1.5},
    {"asin", [](const Double &x) { return asin(clamp(x, -1, 1)); }, -1.5},
    {"sqrt", [](const Double &x) { return sqrt(max(x, 0)); }, -1},
    {"rsqrt", [](const Double &x) { return rsqrt(max(x, 0)); }, -1},
    {"cbrt", [](const Double &x) { return cbrt(max(x, 0)); }, -1},
    {"log", [](const Double &x) { return log(max(x, 0)); }, -1},
    {"log1p", [](const Double &x) { return log1p(max(x, -1)); }, -2},
    {"acosh", [](const Double &x) { return acosh(max(x, 1)); }, 0.5},
    {"atanh", [](const Double &x) { return atanh(min(x, 1)); }, 2},
    {"exp", [](const Double &x) { return exp(max(x, 1000)); }, 5},
    {"quotient", [](const Double &x) { return 1 / max(x, 0); }, -1},
    {"power", [](const Double &x) { return pow(max(x, 0), 0.5); }, -1},
    {"atan2", [](const Double &x) { return atan2(max(x, 0), max(x, 0)); }, -1},
    {"lgamma", [](const Double &x) { return lgamma(max(x, 0)); }, -1},
};

class ZeroTangent : public testing::TestWithParam<Clamped> {};

TEST_P(ZeroTangent, AgreesWithTheAdjoint) {
  Kernel kernel{"clamped", [&](Array<double, 1> y, Array<const double, 1> x) { y(0) = GetParam().function(x(0)); }};
  Buffer<double> x(device(), {1}, {GetParam().at}, Gradient::tracked), y(device(), {1}, Gradient::tracked);
  y.gradient().fill(1);
  kernel.launch({1}, {.direction = Direction::adjoint}, y, x);
  EXPECT_EQ(x.gradient().at(0), 0);
  x.gradient().fill(1);
  kernel.launch({1}, {.direction = Direction::tangent}, y, x);
  EXPECT_EQ(y.gradient().at(0), 0);
}

INSTANTIATE_TEST_SUITE_P(Functions, ZeroTangent, testing::ValuesIn(clamped_functions),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(ZeroTangents, OfAnExponentLeaveTheBase) {
  Kernel power{"power",
               [](Array<double, 1> z, Array<const double, 1> x, Array<const double, 1> y) { z(0) = pow(x(0), y(0)); }};
  Buffer<double> x(device(), {1}, {-2}, Gradient::tracked), y(device(), {1}, {3}, Gradient::tracked);
  Buffer<double> z(device(), {1}, Gradient::tracked);
  x.gradient().fill(1);
  power.launch({1}, {.direction = Direction::tangent}, z, x, y);
  EXPECT_EQ(z.gradient().at(0), 12);
}

TEST(ZeroTangents, OfAFunctionWithAnAdjointOfItsOwn) {
  auto root = custom_adjoint([](Double x) { return sqrt(x); },
                             [](Double, Double root, Double cotangent) { return cotangent / (2 * root); });
  Kernel kernel{"root", [&](Array<double, 1> y, Array<const double, 1> x) { y(0) = root(max(x(0), 0)); }};
  Buffer<double> x(device(), {1}, {-1}, Gradient::tracked), y(device(), {1}, Gradient::tracked);
  x.gradient().fill(1);
  kernel.launch({1}, {.direction = Direction::tangent}, y, x);
  EXPECT_EQ(y.gradient().at(0), 0);
}

TEST(ZeroTangents, OthersAreStillInfinite) {
  Kernel kernel{"root", [](Array<double, 1> y, Array<const double, 1> x) { y(0) = sqrt(x(0)); }};
  Buffer<double> x(device(), {1}, {0}, Gradient::tracked), y(device(), {1}, Gradient::tracked);
  x.gradient().fill(1);
  kernel.launch({1}, {.direction = Direction::tangent}, y, x);
  EXPECT_EQ(y.gradient().at(0), std::numeric_limits<double>::infinity());
}

// The derivative of a tangent with respect to the direction is the derivative, even if the direction is zero.
TEST(ZeroTangents, AreDifferentiatedByTheDirection) {
  Kernel kernel{"logarithm", [](Array<double, 1> y, Array<const double, 1> x) { y(0) = log(x(0)); }};
  auto tangent = kernel.tangent();
  Buffer<double> x(device(), {1}, {4}), y(device(), {1}), y_dot(device(), {1}, Gradient::tracked);
  Buffer<double> x_dot(device(), {1}, {0}, Gradient::tracked);
  y_dot.gradient().fill(1);
  tangent.launch({1}, {.direction = Direction::adjoint}, y, x, y_dot, x_dot);
  EXPECT_EQ(x_dot.gradient().at(0), 0.25);
}

}  // namespace
}  // namespace samite::test
