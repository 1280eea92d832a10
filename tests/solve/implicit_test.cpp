// Gradients through roots, fixed points and minimisers, compared with central differences of their solvers.
#include "tests/runtime/message_of.h"
#include "tests/solve/systems.h"

#include <gmock/gmock.h>

namespace samite::test {
namespace {

using namespace systems;
using namespace solvers;
using testing::HasSubstr;

constexpr std::size_t unknowns = 6;

// x^3 + p x + its neighbour / 4 = 1: a system without symmetry.
const Kernel chained_cubes{
    "chained_cubes", {"f", "x", "p"}, [](Array<double, 1> f, Array<const double, 1> x, Array<const double, 1> p) {
      Int i = thread_index();
      const Double next = select(i + 1 < x.extent(0), x(min(i + 1, x.extent(0) - 1)), 0.0);
      f(i) = x(i) * x(i) * x(i) + p(i) * x(i) + 0.25 * next - 1.0;
    }};

// From the last unknown to the first, each by Newton's method.
Numbers root_of_cubes(const Numbers &p) {
  Numbers x(p.size());
  for (std::size_t i = p.size(); i-- > 0;) {
    const double next = i + 1 < p.size() ? x[i + 1] : 0;
    for (int step = 0; step < 100; ++step)
      x[i] -= (x[i] * x[i] * x[i] + p[i] * x[i] + 0.25 * next - 1) / (3 * x[i] * x[i] + p[i]);
  }
  return x;
}

struct Cubes {
  Numbers parameters{1, 2, 1.5, 3, 0.7, 1.2}, weights{1, -2, 0.5, 3, 1, -1};
  Buffer<double> p = on_device(parameters), x = on_device(Numbers(unknowns));
  Tape tape;

  double record(const ImplicitOptions &options = {}, double error = 0, bool overwrites = false) {
    double residual = 0;
    tape.record([&] {
      residual = implicit(
          [this](const AnyBuffer &at, const AnyBuffer &f) {
            chained_cubes.launch({unknowns}, Buffer<double>(f), Buffer<double>(at), p);
          },
          x, {p},
          [&] {
            Numbers root = root_of_cubes(p.to_vector());
            root[0] += error;
            x.copy_from(std::span<const double>(root));
          },
          options);
      if (overwrites) p.fill(7);
    });
    return residual;
  }
  void backward() { tape.backward({{x, on_device(weights, Gradient::untracked)}}); }
};

TEST(Implicit, GradientsOfARootMatchDifferences) {
  Cubes cubes;
  std::optional<SolveReport> adjoint;
  EXPECT_LT(cubes.record({.on_adjoint = [&](const SolveReport &report) { adjoint = report; }}), 1e-12);
  cubes.backward();
  ASSERT_TRUE(adjoint && adjoint->converged());
  for (std::size_t i = 0; i < unknowns; ++i) {
    const double step = 1e-5;
    Numbers less = cubes.parameters, more = cubes.parameters;
    less[i] -= step, more[i] += step;
    const Numbers low = root_of_cubes(less), high = root_of_cubes(more);
    double expected = 0;
    for (std::size_t k = 0; k < unknowns; ++k) expected += cubes.weights[k] * (high[k] - low[k]) / (2 * step);
    EXPECT_NEAR(cubes.p.gradient().at(static_cast<std::int64_t>(i)), expected, 1e-8) << i;
  }
}

// The minimiser of x^4 / 4 + p x^2 / 2 - x for each element has the derivative -x / (3 x^2 + p).
TEST(Implicit, GradientsOfAMinimiser) {
  const Kernel slope{
      "slope_of_quartic", {"f", "x", "p"}, [](Array<double, 1> f, Array<const double, 1> x, Array<const double, 1> p) {
        Int i = thread_index();
        f(i) = x(i) * x(i) * x(i) + p(0) * x(i) - 1.0;
      }};
  Buffer<double> p = on_device({2}), x = on_device({0, 0, 0});
  double root = 0;
  for (int step = 0; step < 100; ++step) root -= (root * root * root + 2 * root - 1) / (3 * root * root + 2);
  Tape tape;
  tape.record([&] {
    implicit(
        [&](const AnyBuffer &at, const AnyBuffer &f) { slope.launch({3}, Buffer<double>(f), Buffer<double>(at), p); },
        x, {p}, [&] { x.fill(root); }, {.symmetric = true});
  });
  tape.backward({{x, on_device({1, 2, 3}, Gradient::untracked)}});
  EXPECT_NEAR(p.gradient().at(0), 6 * -root / (3 * root * root + 2), 1e-10);
}

TEST(Implicit, RefusesWhatWouldBeWrong) {
  const auto refused = [](const auto &f) { return message_of<UserError>(f); };
  Cubes far;
  EXPECT_GT(far.record({}, 0.1), 0.01);
  EXPECT_THAT(refused([&] { far.backward(); }), HasSubstr("x is no root: the norm of F is"));
  Cubes few;
  few.record({.iterations = 1, .restart = 1});
  EXPECT_THAT(refused([&] { few.backward(); }), HasSubstr("the gradient of implicit would be wrong: gmres of the"));
  Cubes overwritten;
  overwritten.record({}, 0, /*overwrites=*/true);
  EXPECT_THAT(refused([&] { overwritten.backward(); }), HasSubstr("was overwritten since"));
  Buffer<double> x = on_device({1, 2});
  EXPECT_THAT(refused([&] { implicit({}, x, {}); }), HasSubstr("no function is given"));
  const auto nothing = [](const AnyBuffer &, const AnyBuffer &) {};
  EXPECT_THAT(refused([&] { implicit(nothing, x.reshape({2, 1}), {}); }), HasSubstr("x is a vector"));
  EXPECT_THAT(refused([&] { implicit(nothing, x, {}, {}, {.tolerance = 0}); }), HasSubstr("positive tolerances"));
}

}  // namespace
}  // namespace samite::test
