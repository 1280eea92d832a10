// The statements of docs/language.md and docs/gradients.md about rounding, zeros, and gradients through both sides of a
// choice.
#include "samite/samite.h"
#include "tests/jit/on_device.h"

#include <gtest/gtest.h>

#include <cmath>

namespace samite::test {
namespace {

using on_device::device;

template <class K>
double gradient_at(const K &kernel, double at) {
  Buffer<double> x(device, {1}, {at}, Gradient::tracked), y(device, {1}, Gradient::tracked);
  Tape tape;
  tape.record([&] { kernel.launch({1}, y, x); });
  tape.backward(y);
  return Buffer<double>(x.gradient()).to_vector()[0];
}

TEST(TwoSides, SelectHasTheDerivativeOfBothAndIfOfOne) {
  const Kernel chosen{"chosen",
                      [](Array<double, 1> y, Array<const double, 1> x) { y(0) = select(x(0) > 0, sqrt(x(0)), 0.0); }};
  const Kernel branched{"branched", [](Array<double, 1> y, Array<const double, 1> x) {
                          if_(x(0) > 0, [&] { y(0) = sqrt(x(0)); }, [&] { y(0) = 0; });
                        }};
  const Kernel guarded{"guarded", [](Array<double, 1> y, Array<const double, 1> x) {
                         y(0) = select(x(0) > 0, sqrt(select(x(0) > 0, x(0), 1.0)), 0.0);
                       }};
  EXPECT_TRUE(std::isnan(gradient_at(chosen, 0)));
  EXPECT_EQ(gradient_at(branched, 0), 0);
  EXPECT_EQ(gradient_at(guarded, 0), 0);
  for (const auto *kernel : {&chosen, &branched, &guarded}) EXPECT_EQ(gradient_at(*kernel, 4), 0.25);
}

TEST(Rounding, ANegativeZeroIsKeptWhereZeroIsAdded) {
  const Kernel sums{"sums", [](Array<double, 1> y, Array<const double, 1> x) { y(0) = x(0) + 0.0; }};
  Buffer<double> x(device, {1}, {-0.0}), y(device, {1});
  sums.launch({1}, y, x);
  EXPECT_TRUE(std::signbit(y.to_vector()[0]));
}

// In two statements: rounded once, or twice, and nothing else.
TEST(Rounding, AProductMayBeRoundedWithItsSum) {
  const Kernel sums{"sums", [](Array<double, 1> y, Array<const double, 1> x) {
                      Double product = x(0) * x(1);
                      y(0) = product + x(2);
                    }};
  const double a = 1 + 0x1p-30, b = 1 - 0x1p-30, c = -1;
  Buffer<double> x(device, {3}, {a, b, c}), y(device, {1});
  sums.launch({1}, y, x);
  const double sum = y.to_vector()[0], twice = 0;  // a b is 1 to 53 bits
  EXPECT_TRUE(sum == std::fma(a, b, c) || sum == twice) << sum;
}

}  // namespace
}  // namespace samite::test
