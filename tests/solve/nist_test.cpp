// Least squares against NIST's certified values: 27 problems of nonlinear regression, from both starts.
#include "tests/solve/systems.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <numbers>
#include <sstream>

namespace samite::test {
namespace {

using namespace systems;
using namespace solvers;

struct Regression {
  std::string name;
  std::size_t predictors;
  Numbers starts[2], certified, deviations;
  double squares = 0;
  Numbers y, x;  // x: observations x predictors
};

// The file's numbers, without comments.
std::istringstream numbers_of_nist() {
  std::ifstream file(SAMITE_SOURCE_DIR "/tests/solve/nist.txt");
  std::string all, line;
  while (std::getline(file, line))
    if (!line.starts_with('#')) all += line + '\n';
  return std::istringstream(all);
}

std::vector<Regression> regressions() {
  std::vector<Regression> all;
  std::istringstream file = numbers_of_nist();
  Regression one;
  std::size_t parameters = 0, observations = 0;
  while (file >> one.name >> parameters >> one.predictors >> observations) {
    Regression next{one.name,
                    one.predictors,
                    {Numbers(parameters), Numbers(parameters)},
                    Numbers(parameters),
                    Numbers(parameters),
                    0,
                    Numbers(observations),
                    Numbers(observations * one.predictors)};
    for (std::size_t i = 0; i < parameters; ++i)
      file >> next.starts[0][i] >> next.starts[1][i] >> next.certified[i] >> next.deviations[i];
    file >> next.squares;
    for (std::size_t i = 0; i < observations; ++i) {
      file >> next.y[i];
      for (std::size_t k = 0; k < one.predictors; ++k) file >> next.x[i * one.predictors + k];
    }
    all.push_back(std::move(next));
  }
  return all;
}

struct Fitted {
  LeastSquares problem;
  Buffer<double> values;
  ParameterBlocks parameters;
};

template <int N, class Model>
Fitted fitted(const Regression &of, const Model &model) {
  Fitted fit{LeastSquares(), on_device(of.starts[0], Gradient::untracked).reshape({1, N}), {}};
  fit.parameters = fit.problem.add_parameters("b", fit.values);
  const Buffer<std::int32_t> index(device(), {of.y.size()});
  if constexpr (std::invocable<Model, Vector<Double, N>, Double>)
    fit.problem.add_residuals(
        "curve", [model](const Vector<Double, N> &b, const Double &x, const Double &y) { return model(b, x) - y; },
        {{fit.parameters, index}}, {on_device(of.x, Gradient::untracked), on_device(of.y, Gradient::untracked)});
  else
    fit.problem.add_residuals(
        "surface", [model](const Vector<Double, N> &b, const Vec2d &x, const Double &y) { return model(b, x) - y; },
        {{fit.parameters, index}},
        {on_device(of.x, Gradient::untracked).reshape({of.y.size(), 2}), on_device(of.y, Gradient::untracked)});
  return fit;
}

using B2 = Vector<Double, 2>;
using B3 = Vector<Double, 3>;
using B4 = Vector<Double, 4>;
using B5 = Vector<Double, 5>;
using B6 = Vector<Double, 6>;
using B7 = Vector<Double, 7>;
using B8 = Vector<Double, 8>;
using B9 = Vector<Double, 9>;

Double square_of(const Double &a) { return a * a; }

Fitted with_two_parameters(const Regression &of) {
  if (of.name == "Misra1a" || of.name == "BoxBOD")
    return fitted<2>(of, [](const B2 &b, const Double &x) { return b[0] * (1.0 - exp(-b[1] * x)); });
  if (of.name == "Misra1b")
    return fitted<2>(of,
                     [](const B2 &b, const Double &x) { return b[0] * (1.0 - 1.0 / square_of(1.0 + b[1] * x / 2.0)); });
  if (of.name == "Misra1c")
    return fitted<2>(of, [](const B2 &b, const Double &x) { return b[0] * (1.0 - 1.0 / sqrt(1.0 + 2.0 * b[1] * x)); });
  if (of.name == "Misra1d")
    return fitted<2>(of, [](const B2 &b, const Double &x) { return b[0] * b[1] * x / (1.0 + b[1] * x); });
  return fitted<2>(of, [](const B2 &b, const Double &x) { return b[0] * pow(x, b[1]); });  // DanWood
}

Fitted with_three_parameters(const Regression &of) {
  if (of.name.starts_with("Chwirut"))
    return fitted<3>(of, [](const B3 &b, const Double &x) { return exp(-b[0] * x) / (b[1] + b[2] * x); });
  if (of.name == "Nelson") {
    Regression logarithms = of;
    for (double &y : logarithms.y) y = std::log(y);
    return fitted<3>(logarithms, [](const B3 &b, const Vec2d &x) { return b[0] - b[1] * x[0] * exp(-b[2] * x[1]); });
  }
  if (of.name == "Rat42")
    return fitted<3>(of, [](const B3 &b, const Double &x) { return b[0] / (1.0 + exp(b[1] - b[2] * x)); });
  if (of.name == "MGH10")
    return fitted<3>(of, [](const B3 &b, const Double &x) { return b[0] * exp(b[1] / (x + b[2])); });
  if (of.name == "Eckerle4")
    return fitted<3>(
        of, [](const B3 &b, const Double &x) { return b[0] / b[1] * exp(-0.5 * square_of((x - b[2]) / b[1])); });
  return fitted<3>(of, [](const B3 &b, const Double &x) { return b[0] * pow(b[1] + x, -1.0 / b[2]); });  // Bennett5
}

Fitted with_four_or_five_parameters(const Regression &of) {
  if (of.name == "Roszman1")
    return fitted<4>(
        of, [](const B4 &b, const Double &x) { return b[0] - b[1] * x - atan2(b[2], x - b[3]) / std::numbers::pi; });
  if (of.name == "MGH09")
    return fitted<4>(
        of, [](const B4 &b, const Double &x) { return b[0] * (x * x + x * b[1]) / (x * x + x * b[2] + b[3]); });
  if (of.name == "Rat43")
    return fitted<4>(of,
                     [](const B4 &b, const Double &x) { return b[0] / pow(1.0 + exp(b[1] - b[2] * x), 1.0 / b[3]); });
  if (of.name == "Kirby2")
    return fitted<5>(of, [](const B5 &b, const Double &x) {
      return (b[0] + x * (b[1] + x * b[2])) / (1.0 + x * (b[3] + x * b[4]));
    });
  return fitted<5>(of, [](const B5 &b, const Double &x) {  // MGH17
    return b[0] + b[1] * exp(-x * b[3]) + b[2] * exp(-x * b[4]);
  });
}

Fitted with_more_parameters(const Regression &of) {
  if (of.name.starts_with("Lanczos"))
    return fitted<6>(of, [](const B6 &b, const Double &x) {
      return b[0] * exp(-b[1] * x) + b[2] * exp(-b[3] * x) + b[4] * exp(-b[5] * x);
    });
  if (of.name.starts_with("Gauss"))
    return fitted<8>(of, [](const B8 &b, const Double &x) {
      return b[0] * exp(-b[1] * x) + b[2] * exp(-square_of((x - b[3]) / b[4])) +
             b[5] * exp(-square_of((x - b[6]) / b[7]));
    });
  if (of.name == "ENSO")
    return fitted<9>(of, [](const B9 &b, const Double &x) {
      const Double turn = 2 * std::numbers::pi * x;
      return b[0] + b[1] * cos(turn / 12.0) + b[2] * sin(turn / 12.0) + b[4] * cos(turn / b[3]) +
             b[5] * sin(turn / b[3]) + b[7] * cos(turn / b[6]) + b[8] * sin(turn / b[6]);
    });
  return fitted<7>(of, [](const B7 &b, const Double &x) {  // Hahn1, Thurber
    return (b[0] + x * (b[1] + x * (b[2] + x * b[3]))) / (1.0 + x * (b[4] + x * (b[5] + x * b[6])));
  });
}

Fitted fitted(const Regression &of) {
  switch (of.certified.size()) {
    case 2: return with_two_parameters(of);
    case 3: return with_three_parameters(of);
    case 4:
    case 5: return with_four_or_five_parameters(of);
    default: return with_more_parameters(of);
  }
}

// The digits of the worst parameter that are right, at most 11: as many as are certified.
double digits_of(const Numbers &found, const Numbers &certified) {
  double least = 11;
  for (std::size_t i = 0; i < found.size(); ++i)
    least = std::min(least, -std::log10(std::max(std::abs(found[i] / certified[i] - 1), 1e-300)));
  return least;
}

TEST(Nist, SixDigitsFromBothStarts) {
  const std::vector<Regression> all = regressions();
  ASSERT_EQ(all.size(), 27u);
  for (const Regression &of : all) {
    Fitted fit = fitted(of);
    for (const Numbers &start : of.starts) {
      SCOPED_TRACE(of.name + (&start == of.starts ? ", first start" : ", second start"));
      fit.values.copy_from(std::span<const double>(start));
      const LeastSquaresReport report = fit.problem.solve(
          {.iterations = 10000, .cost_tolerance = 0, .gradient_tolerance = 0, .step_tolerance = 1e-15, .radius = 1e-3});
      EXPECT_GE(digits_of(fit.values.to_vector(), of.certified), 6) << report << '\n' << report.history();
      if (of.squares > 1e-20) {  // below, rounding of the data decides
        EXPECT_NEAR(2 * report.final_cost / of.squares, 1, 1e-7);
      }
    }
    // The deviations certified are those of residuals with the variance of the fit.
    if (of.squares < 1e-12) continue;
    const std::size_t n = of.certified.size();
    const Numbers covariance = fit.problem.covariance(fit.parameters, 0);
    const double variance = of.squares / static_cast<double>(of.y.size() - n);
    for (std::size_t i = 0; i < n; ++i)
      EXPECT_NEAR(std::sqrt(variance * covariance[i * n + i]) / of.deviations[i], 1, 1e-5) << of.name << ' ' << i;
  }
}

// From a distant start the second parameter of BoxBOD runs off to a flat region of the model, unless steps that are too
// long for its curvature are refused.
TEST(Nist, AccelerationStaysOffFlatGround) {
  const std::vector<Regression> all = regressions();
  const auto found = std::ranges::find(all, "BoxBOD", &Regression::name);
  ASSERT_NE(found, all.end());
  Fitted fit = fitted(*found);
  const LeastSquaresReport report = fit.problem.solve({.cost_tolerance = 1e-14, .acceleration = true});
  EXPECT_GE(digits_of(fit.values.to_vector(), found->certified), 6) << report << '\n' << report.history();
}

}  // namespace
}  // namespace samite::test
