// Products that repeat a factor.
#include "tests/autodiff/differentiate.h"

#include <gtest/gtest.h>

namespace samite::test {
namespace {

using Out = Array<double, 1>;
using In = Array<const double, 1>;

template <class F>
int multiplications_of_adjoint(const F &function) {
  return count(to_string(adjoint_of<Out, In>({"out", "in"}, function, {true, true}).kernel), "= mul");
}

template <class F>
void expect_gradient_of_product(const F &function) {
  Kernel kernel{"product", {"out", "in"}, function};
  EXPECT_LT(gradient_error(kernel, 4, random_values(8, 0.3, 1.7, 21), 4), 1e-8);
}

TEST(Products, TheFactorsOfACubeTakeItsGradientAtOnce) {
  auto cube = [](Out out, In in) {
    Int i = thread_index();
    Double x = in(i);
    out(i) = x * x * x;
  };
  EXPECT_EQ(multiplications_of_adjoint(cube), 3) << "x x, t (x x), and 3 times that";
  expect_gradient_of_product(cube);
}

TEST(Products, OtherFactorsShareTheGradientWithTheOneThatRepeats) {
  auto force = [](Out out, In in) {
    Int i = thread_index();
    Double m = in(i), r = rsqrt(in(i + 4));
    out(i) = m * r * r * r;
  };
  // r r, t (r r), 3 m, their product, t (r r) r; r (r r) by the rule of the root, with its product and -1/2.
  EXPECT_EQ(multiplications_of_adjoint(force), 8);
  expect_gradient_of_product(force);
}

TEST(Products, OfAnyShape) {
  expect_gradient_of_product([](Out out, In in) {
    Int i = thread_index();
    Double x = in(i), y = in(i + 4), z = sin(x * y);
    Double pairs = (x * y) * (x * y), right = y * (x * (z * (x * x))), both = (x * z) * (y * x) * 2;
    out(i) = pairs + right * 0.5 + both + x * x * x * x * x * x * x * y * 3;
  });
}

// Its gradient is a sum over all its uses, or over the iterations in which it is used.
TEST(Products, AFactorThatIsUsedElsewhereIsReversedByItself) {
  expect_gradient_of_product([](Out out, In in) {
    Int i = thread_index();
    Double x = in(i), y = in(i + 4), square = x * y, cube = square * x, once = x * y * 1.5;
    Double sum = square * x + cube * cube * sin(square);
    for (Int k : range(3)) sum += once * x * cast<Double>(k) * in(i);
    if_(x < 1, [&] { sum *= cube * x * x; });
    out(i) = sum;
  });
}

// Zero times an overflowing factor would be NaN.
TEST(Products, OfNoGradientAreZeroWhereverTheirFactorsAre) {
  Kernel kernel{"product", {"out", "in"}, [](Out out, In in) {
                  Int i = thread_index();
                  out(i) = in(i + 1) * in(i)*in(i)*in(i);
                }};
  Device device = test::device();
  Buffer<double> in(device, {2}, {1e150, 1e-300}, Gradient::tracked), out(device, {1}, Gradient::tracked);
  kernel.launch({1}, {.direction = Direction::adjoint}, out, in);
  EXPECT_EQ(in.gradient().at(0), 0);
  EXPECT_EQ(in.gradient().at(1), 0);
}

}  // namespace
}  // namespace samite::test
