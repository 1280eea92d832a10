#include "samite/autodiff/tangent.h"

#include <gtest/gtest.h>

#include "tests/autodiff/differentiate.h"
#include "tests/runtime/message_of.h"
#include "tests/runtime/test_device.h"

namespace samite::test {
namespace {

using testing::HasSubstr;

// <w, J v> by a tangent launch and <Jᵀ w, v> by an adjoint launch, for random v and w: equal up to rounding.
template <class K>
void expect_tangent_and_adjoint_agree(const K &kernel, std::int64_t instances, const std::vector<double> &input,
                                      std::size_t outputs) {
  Device device = test::device();
  auto size = static_cast<std::int64_t>(input.size()), results = static_cast<std::int64_t>(outputs);
  Buffer<double> in(device, {size}, input, Gradient::tracked), out(device, {results}, Gradient::tracked);
  std::vector<double> v = random_values(input.size(), -1, 1, 7), w = random_values(outputs, -1, 1, 8);

  in.gradient().copy_from(v);
  kernel.launch({instances}, {.direction = Direction::tangent}, out, in);
  std::vector<double> tangent = out.gradient().to_vector();

  in.zero_gradient();
  out.gradient().copy_from(w);
  kernel.launch({instances}, {.direction = Direction::adjoint}, out, in);
  std::vector<double> gradient = in.gradient().to_vector();

  double forward = 0, backward = 0;
  for (std::size_t i = 0; i < outputs; ++i) forward += w[i] * tangent[i];
  for (std::size_t i = 0; i < input.size(); ++i) backward += gradient[i] * v[i];
  EXPECT_NEAR(forward, backward, 1e-12 * (1 + std::fabs(forward)));
  EXPECT_NE(forward, 0);
}

TEST(Tangent, ComputesValuesAndTheirTangents) {
  Kernel square{"square", [](Array<double, 1> y, Array<const double, 1> x) {
                  Int i = thread_index();
                  y(i) = x(i) * x(i);
                }};
  Buffer<double> x(test::device(), {2}, {3, 4}, Gradient::tracked), y(test::device(), {2}, Gradient::tracked);
  x.gradient().copy_from({1, 10});
  square.launch({2}, {.direction = Direction::tangent}, y, x);
  EXPECT_THAT(y.to_vector(), testing::ElementsAre(9, 16));
  EXPECT_THAT(y.gradient().to_vector(), testing::ElementsAre(6, 80));
}

TEST(Tangent, OfLoopsAndBranchesAgreesWithTheAdjoint) {
  Kernel kernel{"mixed", [](Array<double, 1> out, Array<const double, 1> in) {
                  Int i = thread_index();
                  Double product = 1, sum = 0;
                  for (Int j : range(in.extent(0))) {
                    product *= 1 + 0.1 * in(j)*in(i);
                    if_(in(j) > 0, [&] { sum += product; }, [&] { sum -= sin(in(j)) * product; });
                  }
                  out(i) = sum * product;
                }};
  expect_tangent_and_adjoint_agree(kernel, 20, random_values(20, -1, 1, 3), 20);
}

TEST(Tangent, OfAWhileLoopAgreesWithTheAdjoint) {
  Kernel kernel{"newton", [](Array<double, 1> out, Array<const double, 1> in) {
                  Int i = thread_index();
                  Double a = in(i), x = a;
                  while_([&] { return abs(x * x - a) > 1e-8; }, [&] { x = 0.5 * (x + a / x); });
                  out(i) = x;
                }};
  expect_tangent_and_adjoint_agree(kernel, 20, random_values(20, 0.5, 9, 4), 20);
}

TEST(Tangent, OfAStoreOfAConstantIsZero) {
  Kernel reset{"reset", [](Array<double, 1> y, Array<const double, 1> x) {
                 Int i = thread_index();
                 y(i) = x(i) * 2;
                 if_(i == 0, [&] { y(i) = 5; });
               }};
  Buffer<double> x(test::device(), {2}, {1, 1}, Gradient::tracked), y(test::device(), {2}, Gradient::tracked);
  x.gradient().fill(1);
  y.gradient().fill(9);
  reset.launch({2}, {.direction = Direction::tangent}, y, x);
  EXPECT_THAT(y.gradient().to_vector(), testing::ElementsAre(0, 2));
}

TEST(Tangent, InPlaceNeedsNothingKept) {
  Kernel square{"square", [](Array<double, 1> x) {
                  Int i = thread_index();
                  x(i) = x(i) * x(i);
                }};
  Buffer<double> x(test::device(), {1}, {3}, Gradient::tracked);
  x.gradient().fill(1);
  square.launch({1}, {.direction = Direction::tangent}, x);
  square.launch({1}, {.direction = Direction::tangent}, x);
  EXPECT_EQ(x.at(0), 81);
  EXPECT_EQ(x.gradient().at(0), 108);  // d x^4 = 4 x^3
}

TEST(TangentRefuses, BuffersThatTrackNothing) {
  Kernel copy{"copy", [](Array<double, 1> y, Array<const double, 1> x) { y(thread_index()) = x(thread_index()); }};
  Buffer<double> x(test::device(), {1}), y(test::device(), {1});
  EXPECT_THAT(message_of<UserError>([&] { copy.launch({1}, {.direction = Direction::tangent}, y, x); }),
              HasSubstr("Gradient::tracked"));
}

}  // namespace
}  // namespace samite::test
