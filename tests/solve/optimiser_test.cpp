// Optimisers against the same steps in double on the host, and L-BFGS against known minima.
#include "tests/runtime/message_of.h"
#include "tests/solve/systems.h"

#include <gmock/gmock.h>

#include <limits>
#include <sstream>

namespace samite::test {
namespace {

using solvers::Adam;
using solvers::AdamW;
using solvers::lbfgs;
using solvers::MinimiseEnd;
using solvers::MinimiseReport;
using solvers::Optimiser;
using solvers::Sgd;
using systems::Numbers;
using systems::random_numbers;
using testing::DoubleNear;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pointwise;

// The state of one parameter's numbers.
struct ReferenceState {
  Numbers x, first, second;
  int steps = 0;

  explicit ReferenceState(const Numbers &x) : x(x), first(x.size()), second(x.size()) {}

  void step(const Sgd &sgd, const Numbers &gradient) {
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double g = gradient[i] + sgd.weight_decay * x[i];
      first[i] = sgd.momentum * first[i] + g;
      x[i] -= sgd.rate * (sgd.nesterov ? g + sgd.momentum * first[i] : first[i]);
    }
  }
  template <class AdamLike>
  void step(const AdamLike &adam, const Numbers &gradient) {
    constexpr bool decoupled = std::same_as<AdamLike, AdamW>;
    ++steps;
    for (std::size_t i = 0; i < x.size(); ++i) {
      const double g = gradient[i] + (decoupled ? 0 : adam.weight_decay * x[i]);
      if (decoupled) x[i] -= adam.rate * adam.weight_decay * x[i];
      first[i] = adam.beta1 * first[i] + (1 - adam.beta1) * g;
      second[i] = adam.beta2 * second[i] + (1 - adam.beta2) * g * g;
      const double mean = first[i] / (1 - std::pow(adam.beta1, steps));
      x[i] -= adam.rate * mean / (std::sqrt(second[i] / (1 - std::pow(adam.beta2, steps))) + adam.epsilon);
    }
  }
};

// The gradient of step `n`: any numbers do.
Numbers gradient_of_step(std::size_t count, unsigned n) { return random_numbers(count, 100 + n); }

template <class Method>
void expect_steps(const Method &method) {
  const Numbers x = random_numbers(50, 1), y = random_numbers(7, 2);
  Buffer<double> on(device(), {50}, x, Gradient::tracked), other(device(), {7}, y, Gradient::tracked);
  Optimiser optimiser({on, other}, method);
  ReferenceState expected(x), expected_other(y);
  for (unsigned n = 0; n < 5; ++n) {
    const Numbers g = gradient_of_step(50, n), h = gradient_of_step(7, 50 + n);
    on.gradient().copy_from(std::span(g)), other.gradient().copy_from(std::span(h));
    optimiser.step();
    expected.step(method, g), expected_other.step(method, h);
  }
  EXPECT_THAT(on.to_vector(), Pointwise(DoubleNear(1e-13), expected.x));
  EXPECT_THAT(other.to_vector(), Pointwise(DoubleNear(1e-13), expected_other.x));
  EXPECT_EQ(optimiser.steps(), 5);
}

TEST(Optimiser, StepsOfSgd) {
  expect_steps(Sgd{.rate = 0.1});
  expect_steps(Sgd{.rate = 0.1, .momentum = 0.9, .weight_decay = 0.2});
  expect_steps(Sgd{.rate = 0.1, .momentum = 0.8, .nesterov = true});
}
TEST(Optimiser, StepsOfAdam) {
  expect_steps(Adam{.rate = 0.05});
  expect_steps(Adam{.rate = 0.05, .beta1 = 0.7, .beta2 = 0.9, .epsilon = 1e-3, .weight_decay = 0.3});
  expect_steps(AdamW{.rate = 0.05, .weight_decay = 0.3});
}

TEST(Optimiser, ABlockOfParametersIsOneRun) {
  const auto parameters = solvers::parameter_block(device(), ScalarType::Float32, {{3, 4}, {5}, {0}, {2, 2}});
  EXPECT_EQ(parameters[0].extents(), (Extents{3, 4}));
  EXPECT_EQ(parameters[3].count(), 4);
  // In another order than in memory.
  const solvers::detail::ParameterRuns runs("test", {parameters[3], parameters[0], parameters[1]}, {});
  ASSERT_EQ(runs.runs().size(), 1u);
  EXPECT_EQ(runs.runs()[0].count(), 21);
  EXPECT_EQ(runs.places()[0].begin, 17);
  const solvers::detail::ParameterRuns apart("test", {parameters[3], parameters[0]}, {});
  EXPECT_EQ(apart.runs().size(), 2u);
}

TEST(Optimiser, StepsOfABlock) {
  const auto parameters = solvers::parameter_block(device(), ScalarType::Float32, {{3}, {2}});
  Buffer<float> a(parameters[0]), b(parameters[1]);
  a.copy_from({1, 2, 3}), b.copy_from({4, 5});
  a.gradient().copy_from({1, 1, 1}), b.gradient().copy_from({2, 2});
  Optimiser optimiser({b, a}, Sgd{.rate = 0.5});
  optimiser.step();
  EXPECT_THAT(a.to_vector(), ElementsAre(0.5f, 1.5f, 2.5f));
  EXPECT_THAT(b.to_vector(), ElementsAre(3, 4));
  optimiser.set_rate(1);
  optimiser.step();
  EXPECT_THAT(b.to_vector(), ElementsAre(1, 2));
  optimiser.zero_gradients();
  EXPECT_THAT(a.gradient().to_vector(), ElementsAre(0, 0, 0));
}

TEST(Optimiser, ClipsByTheNormOfAllGradients) {
  Buffer<double> a(device(), {2}, {0, 0}, Gradient::tracked), b(device(), {1}, {0}, Gradient::tracked);
  Optimiser optimiser({a, b}, Sgd{.rate = 1}, {.clip_norm = 3.5});
  a.gradient().copy_from({2, 3}), b.gradient().fill(6);
  optimiser.step();
  EXPECT_DOUBLE_EQ(optimiser.gradient_norm(), 7);
  EXPECT_THAT(a.to_vector(), ElementsAre(-1, -1.5));
  EXPECT_THAT(b.to_vector(), ElementsAre(-3));
  a.gradient().copy_from({1, 0}), b.gradient().fill(0);
  optimiser.step();
  EXPECT_THAT(a.to_vector(), ElementsAre(-2, -1.5)) << "a short gradient stays as it is";
}

TEST(Optimiser, StateIsSavedAndLoaded) {
  const Numbers x = random_numbers(6, 3);
  const auto make = [&](bool in_a_block) {
    std::vector<AnyBuffer> parameters;
    if (in_a_block)
      parameters = solvers::parameter_block(device(), ScalarType::Float64, {{4}, {2}});
    else
      parameters = {Buffer<double>(device(), {4}, Gradient::tracked), Buffer<double>(device(), {2}, Gradient::tracked)};
    Buffer<double>(parameters[0]).copy_from(std::span(x).first(4));
    Buffer<double>(parameters[1]).copy_from(std::span(x).last(2));
    return parameters;
  };
  const auto step = [&](Optimiser &optimiser, const std::vector<AnyBuffer> &parameters, unsigned n) {
    const Numbers g = gradient_of_step(6, n);
    Buffer<double>(parameters[0]).gradient().copy_from(std::span(g).first(4));
    Buffer<double>(parameters[1]).gradient().copy_from(std::span(g).last(2));
    optimiser.step();
  };
  const auto whole = make(false), loaded = make(true);
  Optimiser one(whole, Adam{}), other(loaded, Adam{});
  step(one, whole, 0), step(one, whole, 1);
  std::stringstream file;
  one.save(file);
  other.load(file);
  for (std::size_t i = 0; i < 2; ++i) AnyBuffer(loaded[i]).copy_from(whole[i]);
  EXPECT_EQ(other.steps(), 2);
  step(one, whole, 2), step(other, loaded, 2);
  for (std::size_t i = 0; i < 2; ++i)
    EXPECT_EQ(Buffer<double>(whole[i]).to_vector(), Buffer<double>(loaded[i]).to_vector());

  std::stringstream again(file.str()), nonsense("nonsense"), cut(file.str().substr(0, file.str().size() - 9));
  Optimiser sgd(make(false), Sgd{}),
      longer({Buffer<double>(device(), {4}, Gradient::tracked), Buffer<double>(device(), {3}, Gradient::tracked)},
             Adam{});
  EXPECT_THAT(message_of<UserError>([&] { sgd.load(again); }),
              HasSubstr("the state of Sgd with 2 parameters is expected, that of Adam"));
  again.seekg(0);
  EXPECT_THAT(message_of<UserError>([&] { longer.load(again); }),
              HasSubstr("parameter 1: the state of 3 f64 is expected, that of 2 f64"));
  EXPECT_THAT(message_of<UserError>([&] { other.load(nonsense); }), HasSubstr("which save() wrote"));
  EXPECT_THAT(message_of<UserError>([&] { other.load(cut); }), HasSubstr("ends too early"));
}

TEST(Optimiser, StepsInAGraph) {
  Buffer<double> x(device(), {3}, {1, 2, 3}, Gradient::tracked);
  x.gradient().copy_from({1, -2, 0.5});
  Optimiser optimiser({x}, Adam{.rate = 0.1}, {.clip_norm = 1});
  ReferenceState expected({1, 2, 3});
  optimiser.step();
  Graph graph = capture(Stream::standard(device()), [&] { optimiser.step(); });
  for (int n = 0; n < 3; ++n) graph.launch();
  const double norm = std::sqrt(5.25);
  for (int n = 0; n < 4; ++n) expected.step(Adam{.rate = 0.1}, {1 / norm, -2 / norm, 0.5 / norm});
  EXPECT_EQ(optimiser.steps(), 4);
  EXPECT_THAT(x.to_vector(), Pointwise(DoubleNear(1e-13), expected.x));
}

TEST(Optimiser, RefusesWrongParametersAndNumbers) {
  Buffer<double> x(device(), {4}, Gradient::tracked), plain(device(), {4});
  const auto message = [](const std::vector<AnyBuffer> &parameters, const Optimiser::Method &method = Sgd{}) {
    return message_of<UserError>([&] { Optimiser(parameters, method); });
  };
  EXPECT_THAT(message({}), HasSubstr("no parameters"));
  EXPECT_THAT(message({x, plain}), HasSubstr("parameter 1, Buffer<f64>(4) on"));
  EXPECT_THAT(message({x, plain}), HasSubstr("tracks no gradient"));
  EXPECT_THAT(message({x, x.slice(0, 2, 4)}), HasSubstr("overlaps parameter 0"));
  EXPECT_THAT(message({x.slice(0, 0, 4, 2)}), HasSubstr("not contiguous"));
  EXPECT_THAT(message({Buffer<double>()}), HasSubstr("an empty buffer, has no elements"));
  EXPECT_THAT(message({Buffer<half>(device(), {4}, Gradient::tracked)}), HasSubstr("f16"));
  EXPECT_THAT(message({x}, Adam{.rate = -1}), HasSubstr("Adam: a rate"));
  EXPECT_THAT(message({x}, Sgd{.momentum = 1}), HasSubstr("a momentum"));
  EXPECT_THAT(message({x}, AdamW{.beta2 = std::numeric_limits<double>::quiet_NaN()}), HasSubstr("two betas"));
}

// Rosenbrock's function of any even number of arguments, with the minimum 0 at ones.
const Kernel rosenbrock{"rosenbrock", {"sum", "x"}, [](Array<double, 1> sum, Array<const double, 1> x) {
                          Int i = thread_index();
                          const Double a = 1 - x(2 * i), b = x(2 * i + 1) - x(2 * i) * x(2 * i);
                          atomic_add(sum(0), a * a + 100 * b * b);
                        }};

MinimiseReport minimise(const std::vector<double> &from, const solvers::LbfgsOptions &options,
                        std::vector<double> *to = nullptr) {
  Buffer<double> x(device(), {from.size()}, from, Gradient::tracked), sum(device(), {1}, Gradient::tracked);
  const Extents pairs{x.count() / 2};
  Launch forward = rosenbrock.record(pairs, sum, x);
  Launch adjoint = rosenbrock.record(pairs, {.direction = Direction::adjoint}, sum, x);
  const MinimiseReport report = lbfgs(
      {x},
      [&] {
        sum.fill(0), forward.launch();
        sum.gradient().fill(1), adjoint.launch();
        return sum.at(0);
      },
      options);
  if (to) *to = x.to_vector();
  return report;
}

TEST(Lbfgs, FindsRosenbrocksMinimum) {
  std::vector<double> x;
  const MinimiseReport report = minimise({-1.2, 1, -1.2, 1, 3, -2}, {.gradient_tolerance = 1e-9}, &x);
  EXPECT_EQ(report.ended, MinimiseEnd::small_gradient) << report;
  EXPECT_THAT(x, Pointwise(DoubleNear(1e-8), std::vector<double>(6, 1)));
  EXPECT_LT(report.evaluations, 120);
  for (std::size_t i = 1; i < report.history.size(); ++i) EXPECT_LE(report.history[i], report.history[i - 1]);
}

TEST(Lbfgs, SaysWhyItEnds) {
  EXPECT_EQ(minimise({-1.2, 1}, {.iterations = 3}).ended, MinimiseEnd::iterations);
  EXPECT_EQ(minimise({1, 1}, {}).iterations, 0);
  EXPECT_EQ(minimise({-1.2, 1}, {.change_tolerance = 0.5}).ended, MinimiseEnd::small_change);
  EXPECT_EQ(minimise({std::numeric_limits<double>::quiet_NaN(), 1}, {}).ended, MinimiseEnd::not_finite);
  EXPECT_EQ(minimise({-1.2, 1}, {.progress = [](const solvers::MinimiseProgress &) { return false; }}).ended,
            MinimiseEnd::stopped);
  Buffer<double> x(device(), {1}, {3}, Gradient::tracked);
  const MinimiseReport wrong = lbfgs({x}, [&] {
    x.gradient().fill(-1);  // of x itself it is 1
    return x.at(0);
  });
  EXPECT_EQ(wrong.ended, MinimiseEnd::no_descent) << wrong;
  EXPECT_THAT(wrong.to_string(), HasSubstr("satisfies the Wolfe conditions"));
  EXPECT_EQ(x.at(0), 3) << "where it began";
  EXPECT_THAT(message_of<UserError>([&] { lbfgs({x}, nullptr); }), HasSubstr("no objective"));
  EXPECT_THAT(message_of<UserError>([&] { lbfgs({x}, [] { return 0.0; }, {.decrease = 0.95}); }),
              HasSubstr("0 < decrease < curvature < 1"));
}

TEST(Lbfgs, ComesBackFromWhereTheObjectiveIsNotDefined) {
  // x - log(x), with the minimum at 1, from a point at which a full step leads below zero.
  Buffer<double> x(device(), {1}, {8}, Gradient::tracked);
  const MinimiseReport report = lbfgs({x}, [&] {
    const double now = x.at(0);
    x.gradient().fill(20 * (1 - 1 / now));
    return 20 * (now - std::log(now));
  });
  EXPECT_TRUE(report.converged()) << report;
  EXPECT_NEAR(x.at(0), 1, 1e-8);
}

}  // namespace
}  // namespace samite::test
