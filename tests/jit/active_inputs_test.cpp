// An adjoint for some of a kernel's inputs has nothing in it for the others.
#include "samite/jit/definition.h"
#include "samite/samite.h"
#include "tests/jit/on_device.h"

#include <gtest/gtest.h>

namespace samite::test {
namespace {

using on_device::device;

// Each input passes through one function that no other part of the kernel has, so that its presence shows.
auto three_inputs() {
  return Kernel{"three_inputs",
                {"y", "a", "b", "c"},
                [](Array<double, 1> y, Array<const double, 1> a, Array<const double, 1> b, Array<const double, 1> c) {
                  Int i = thread_index();
                  Double sum = erf(a(i));
                  for (Int k : range(8)) sum += cast<Double>(k) * atan(b(i) * sum);
                  y(i) = sum * log1p(c(i) * c(i));
                }};
}

Buffer<double> inputs(bool tracked) {
  return Buffer<double>(device, {4}, {0.1, 0.2, 0.3, 0.4}, tracked ? Gradient::tracked : Gradient::untracked);
}

Launch adjoint_launch(bool a, bool b, bool c) {
  return three_inputs().record({4}, {.direction = Direction::adjoint}, inputs(true), inputs(a), inputs(b), inputs(c));
}

bool mentions(const Launch &launch, const std::string &text) {
  return launch.variant().text.source.find(text) != std::string::npos;
}

TEST(AdjointOfSomeInputs, HasNothingForTheOthers) {
  Launch of_c = adjoint_launch(false, false, true);
  // y is linear in log1p(c²), whose derivative needs no logarithm; the loop's sum is its factor.
  EXPECT_FALSE(mentions(of_c, "log1p"));
  EXPECT_TRUE(mentions(of_c, "atan"));
  EXPECT_FALSE(mentions(of_c, "exp"));  // the derivative of erf
  Launch of_a = adjoint_launch(true, false, false);
  EXPECT_TRUE(mentions(of_a, "exp"));
  EXPECT_TRUE(mentions(of_a, "log1p"));
  EXPECT_EQ(of_a.variant().derivative.gradient_of, (std::vector<std::uint32_t>{0, 1}));
}

TEST(AdjointOfSomeInputs, CompilesToLessCode) {
  SAMITE_ON_THE_CPU();
  const auto bytes = [](const Launch &launch) { return launch.variant().host.compile.image_bytes; };
  const Launch all = adjoint_launch(true, true, true), two = adjoint_launch(true, true, false),
               one = adjoint_launch(false, false, true);
  EXPECT_LT(bytes(one), bytes(two));
  EXPECT_LT(bytes(two), bytes(all));
}

TEST(AdjointOfSomeInputs, GivesTheSameGradientsAsTheWhole) {
  auto kernel = three_inputs();
  const auto gradient_of_c = [&](bool others) {
    Buffer<double> y = inputs(true), c = inputs(true);
    y.gradient().fill(1);
    kernel.launch({4}, {.direction = Direction::adjoint}, y, inputs(others), inputs(others), c);
    return c.gradient().to_vector();
  };
  const std::vector<double> alone = gradient_of_c(false), among_others = gradient_of_c(true);
  for (std::size_t i = 0; i < alone.size(); ++i) EXPECT_NEAR(alone[i], among_others[i], 1e-13 * std::abs(alone[i]));
}

}  // namespace
}  // namespace samite::test
