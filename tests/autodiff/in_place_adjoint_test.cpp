// Gradients of arrays that one kernel reads and writes, compared with finite differences.
#include "samite/jit/gradient_check.h"
#include "tests/autodiff/differentiate.h"
#include "tests/runtime/message_of.h"
#include "tests/runtime/test_device.h"

#include <gtest/gtest.h>

namespace samite::test {
namespace {

using testing::HasSubstr;

using Vector = Array<double, 1>;
using Matrix = Array<double, 2>;

// The error of the gradient of a function of `state` in place and of `out`, checked through a tape.
template <class F>
double error_in_place(const F &function, const Extents &state_extents, std::int64_t instances) {
  Device device = test::device();
  Kernel kernel{"in_place", {"out", "state"}, function};
  std::vector<double> values = random_values(static_cast<std::size_t>(state_extents.count()), -1, 1, 3);
  Buffer<double> state(device, state_extents, values, Gradient::tracked);
  Buffer<double> out(device, {instances}, Gradient::tracked);
  GradientReport report =
      gradcheck([&] { kernel.launch({instances}, out, state); }, {state}, {out, state}, {.tolerance = 1e-7});
  EXPECT_TRUE(report.passed) << report;
  return report.error;
}

TEST(InPlaceAdjoint, OfAnElementSquaredTwice) {
  EXPECT_LT(error_in_place(
                [](Vector out, Vector x) {
                  Int i = thread_index();
                  x(i) = x(i) * x(i);
                  x(i) = x(i) * x(i) + x(i);
                  out(i) = x(i) * x(i);
                },
                {5}, 5),
            1e-7);
}

TEST(InPlaceAdjoint, OfAProductInADynamicLoop) {
  EXPECT_LT(error_in_place(
                [](Vector out, Vector x) {
                  Int i = thread_index();
                  for (Int k : range(i)) x(i) *= 0.5 + x(i) * x(i);
                  out(i) = 1;
                },
                {5}, 5),
            1e-7);
}

TEST(InPlaceAdjoint, OfComponentsOfAnInstancesOwnVector) {
  EXPECT_LT(error_in_place(
                [](Vector out, Matrix p) {
                  Int i = thread_index();
                  for (Int step : range(3)) {
                    p(0, i) = p(0, i) + 0.1 * p(1, i);
                    p(1, i) -= 0.1 * sin(p(0, i)) * p(1, i);
                  }
                  out(i) = p(0, i) * p(1, i);
                },
                {3, 5}, 5),
            1e-7);
}

TEST(InPlaceAdjoint, OfAnInstancesOwnRow) {
  EXPECT_LT(error_in_place(
                [](Vector out, Matrix rows) {
                  Int i = thread_index();
                  for (Int step : range(2))
                    for (Int k : range(1, rows.extent(1) - 1))
                      rows(i, k) += 0.1 * (rows(i, k - 1) * rows(i, k + 1) - rows(i, k) * rows(i, k));
                  Double sum = 0;
                  for (Int k : range(rows.extent(1))) sum += rows(i, k) * rows(i, k);
                  out(i) = sum;
                },
                {4, 6}, 4),
            1e-7);
}

TEST(InPlaceAdjoint, OfAnInstancesOwnPlaneWithIndicesOfTwoKinds) {
  EXPECT_LT(error_in_place(
                [](Vector out, Array<double, 3> planes) {
                  Int i = thread_index();
                  for (Int k : range(1, planes.extent(2)))
                    for (Int j : range(planes.extent(0))) planes(j, i, k) = planes(j, i, k - 1) * planes(0, i, 0) + 0.5;
                  out(i) = planes(1, i, 2);
                },
                {2, 3, 4}, 3),
            1e-7);
}

TEST(InPlaceAdjoint, OfStoresUnderAConditionThatKeepsInstancesInside) {
  EXPECT_LT(error_in_place(
                [](Vector out, Vector x) {
                  Int i = thread_index();
                  if_(i < x.extent(0), [&] { x(i) = x(i) * x(i); });
                  if_(i < x.extent(0) && x(min(i, x.extent(0) - 1)) > 0, [] {});
                  if_(i + 1 < x.extent(0) + 1, [&] { x(i) *= x(i) + 1; });
                  out(i) = 0;
                },
                {3}, 3),
            1e-7);
}

TEST(InPlaceAdjoint, OfElementsThatOnlyOneSideOfABranchTouches) {
  EXPECT_LT(error_in_place(
                [](Vector out, Vector x) {
                  Int i = thread_index();
                  out(i) = 1;
                  if_(i % 2 == 0, [&] {
                    for (Int k : range(3)) x(i) *= x(i) + 0.5;
                    out(i) = x(i) * x(i);
                  });
                },
                {5}, 5),
            1e-7);
}

// More instances than elements: an adjoint that loaded or stored beyond them would be seen in debug mode.
TEST(InPlaceAdjoint, TouchesNoElementsOutside) {
  Device device = test::device();
  Kernel kernel{"guarded", {"x"}, [](Vector x) {
                  Int i = thread_index();
                  if_(i < x.extent(0), [&] { x(i) = x(i) * x(i); });
                  if_(i < x.extent(0), [&] { x(i) = x(i) * x(i); });
                }};
  Buffer<double> x(device, {3}, {1, 2, 3}, Gradient::tracked);
  Tape tape;
  tape.record([&] { kernel.launch({40}, {.debug = true}, x); });
  tape.backward({{x, Buffer<double>(device, {3}, {1, 1, 1})}});
  EXPECT_EQ(x.gradient().to_vector(), (std::vector<double>{4, 32, 108})) << "4 x^3";
}

TEST(InPlaceAdjoint, OfASumAddedToAtomicallyAndReadByItsInstance) {
  EXPECT_LT(error_in_place(
                [](Vector out, Vector x) {
                  Int i = thread_index();
                  atomic_add(x(i), x(i) * x(i));
                  out(i) = x(i) * x(i);
                },
                {5}, 5),
            1e-7);
}

// An intermediate array that tracks no gradient is no gap if its elements belong to the instance.
TEST(InPlaceAdjoint, OfAnElementThatTracksNoGradient) {
  Device device = test::device();
  Kernel kernel{"between", {"y", "between", "x"}, [](Vector y, Vector between, Vector x) {
                  Int i = thread_index();
                  between(i) = 3 * x(i);
                  y(i) = between(i) * between(i);
                }};
  Buffer<double> x(device, {2}, {1, 2}, Gradient::tracked), y(device, {2}, Gradient::tracked), between(device, {2});
  y.gradient().fill(1);
  kernel.launch({2}, {.direction = Direction::adjoint}, y, between, x);
  EXPECT_EQ(x.gradient().to_vector(), (std::vector<double>{18, 36}));
}

TEST(InPlaceAdjointRefuses, ANeighboursElement) {
  int line = 0;
  std::string message = message_of<UserError>([&] {
    adjoint_of<Matrix, Matrix>({"y", "x"},
                               [&](Matrix, Matrix x) {
                                 Int i = thread_index();
                                 line = __LINE__ + 1;
                                 for (Int k : range(3)) x(i, k) = x(i + 1, k) * 2;
                               },
                               {true, true});
  });
  EXPECT_THAT(message, HasSubstr("in_place_adjoint_test.cpp:" + std::to_string(line)));
  EXPECT_THAT(message, HasSubstr("'x' is written here and read at another index"));
}

}  // namespace
}  // namespace samite::test
