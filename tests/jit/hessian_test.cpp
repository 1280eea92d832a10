#include "samite/jit/hessian.h"

#include "samite/samite.h"
#include "tests/jit/on_device.h"
#include "tests/runtime/message_of.h"

namespace samite::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using on_device::device;

// The energy of a chain of springs, and something with carried values that is not quadratic.
const Kernel energy{"energy", {"sum", "x"}, [](Array<double, 1> sum, Array<const double, 1> x) {
                      Int i = thread_index();
                      Double product = 1;
                      for (Int j : range(3)) product *= 1 + 0.1 * x(i) * x((i + j) % x.extent(0));
                      if_(x(i) > 0, [&] { product += sin(x(i)); });
                      atomic_add(sum(0), product * x(i));
                    }};

const Kernel product_of_three{"product_of_three", {"y", "x"}, [](Array<double, 1> y, Array<const double, 1> x) {
                                Int i = thread_index();
                                y(i) = x(0) * x(1) * x(2);
                              }};

TEST(Hessian, TimesADirection) {
  Buffer<double> x(device, {3}, {2, 3, 5}, Gradient::tracked), y(device, {1}, Gradient::tracked);
  // H = (0 5 3, 5 0 2, 3 2 0)
  HessianVectorProduct h = hessian_vector_product([&] { product_of_three.launch({1}, y, x); }, {x}, {{1, 10, 100}}, y);
  EXPECT_THAT(h.product[0], ElementsAre(350, 205, 23));
  EXPECT_THAT(h.gradient[0], ElementsAre(15, 10, 6));
  EXPECT_EQ(h.slope, 15 + 100 + 600);
}

TEST(Hessian, OfAKernelNamesTheObjectiveByIndex) {
  Buffer<double> x(device, {3}, {2, 3, 5}, Gradient::tracked), y(device, {1}, Gradient::tracked);
  EXPECT_THAT((hessian_vector_product<0>(product_of_three, {1}, {{1, 10, 100}}, y, x).product[0]),
              ElementsAre(350, 205, 23));
}

TEST(Hessian, AgreesWithDifferencesOfGradients) {
  Buffer<double> x(device, {5}, {0.3, -1, 2, 0.7, -0.2}, Gradient::tracked), sum(device, {1}, Gradient::tracked);
  auto work = [&] {
    sum.fill(0);
    energy.launch({5}, sum, x);
  };
  GradientReport report = hessian_check(work, {x}, sum);
  EXPECT_TRUE(report.passed) << report;
  EXPECT_EQ(report.checked, 5);
}

TEST(Hessian, GoesOverAllLaunchesOrdinaryAndRecorded) {
  Kernel step{"step", {"next", "x", "rate"}, [](Array<double, 1> next, Array<const double, 1> x, Double rate) {
                Int i = thread_index();
                next(i) = x(i) + rate * x(i) * x((i + 1) % x.extent(0));
              }};
  Kernel square{"square", {"x"}, [](Array<double, 1> x) {
                  Int i = thread_index();
                  x(i) = x(i) * x(i);
                }};
  Buffer<double> x(device, {4}, {0.3, -1, 2, 0.7}, Gradient::tracked), y(device, {4}, Gradient::tracked),
      z(device, {4}, Gradient::tracked), sum(device, {1}, Gradient::tracked);
  Launch second = step.record({4}, z, y, 0.25);
  auto work = [&] {
    sum.fill(0);
    step.launch({4}, y, x, 0.5);
    second.launch();
    square.launch({4}, z);  // in place: the tape keeps the previous values, and their tangents
    energy.launch({4}, sum, z);
  };
  GradientReport report = hessian_check(work, {x}, sum);
  EXPECT_TRUE(report.passed) << report;
}

TEST(Hessian, IsSymmetric) {
  Buffer<double> x(device, {3}, {0.3, -1, 2}, Gradient::tracked), w(device, {3}, {1, 2, 3}, Gradient::tracked),
      sum(device, {1}, Gradient::tracked);
  Kernel mixed{
      "mixed", {"sum", "x", "w"}, [](Array<double, 1> sum, Array<const double, 1> x, Array<const double, 1> w) {
        Int i = thread_index();
        atomic_add(sum(0), exp(w(i) * x(i)) * x((i + 1) % 3));
      }};
  auto work = [&] {
    sum.fill(0);
    mixed.launch({3}, sum, x, w);
  };
  auto a = hessian_vector_product(work, {x, w}, {{1, 0, 0}, {0, 0, 0}}, sum);
  auto b = hessian_vector_product(work, {x, w}, {{0, 0, 0}, {1, 0, 0}}, sum);
  EXPECT_DOUBLE_EQ(a.product[1][0], b.product[0][0]);
  EXPECT_NE(a.product[1][0], 0);
}

TEST(HessianCheck, FindsAWrongSecondDerivative) {
  Kernel stopped{"stopped", {"y", "x"}, [](Array<double, 1> y, Array<const double, 1> x) {
                   Int i = thread_index();
                   atomic_add(y(0), stop_gradient(x(i)) * x(i));
                 }};
  Buffer<double> x(device, {2}, {2, 3}, Gradient::tracked), y(device, {1}, Gradient::tracked);
  GradientReport report = hessian_check(
      [&] {
        y.fill(0);
        stopped.launch({2}, y, x);
      },
      {x}, y);
  EXPECT_FALSE(report.passed) << "the gradient x changes with x, and the second derivative says 0";
  EXPECT_THAT(report.to_string(), HasSubstr("Hessian-vector product check FAILED"));
}

TEST(HessianRefuses, WhatDoesNotFit) {
  Buffer<double> x(device, {3}, Gradient::tracked), y(device, {1}, Gradient::tracked), plain(device, {1});
  auto refusal = [&](std::vector<Buffer<double>> inputs, const std::vector<std::vector<double>> &directions,
                     const Buffer<double> &objective) {
    return message_of<UserError>([&] { hessian_vector_product([] {}, inputs, directions, objective); });
  };
  EXPECT_THAT(refusal({x}, {{1, 2}}, y), testing::AllOf(HasSubstr("3 numbers"), HasSubstr("2 are given")));
  EXPECT_THAT(refusal({x}, {}, y), HasSubstr("one direction"));
  EXPECT_THAT(refusal({y}, {{1}}, x), HasSubstr("one element"));
  EXPECT_THAT(refusal({plain}, {{1}}, y), HasSubstr("input 0 tracks no gradient"));
}

}  // namespace
}  // namespace samite::test
