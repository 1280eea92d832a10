// Nonlinear least squares: steps, solvers, manifolds, losses, bounds, and refused problems.
#include "tests/runtime/message_of.h"
#include "tests/solve/systems.h"

#include <gmock/gmock.h>

#include <limits>
#include <numbers>

namespace samite::test {
namespace {

using namespace systems;
using namespace solvers;
using testing::DoubleNear;
using testing::HasSubstr;
using testing::Pointwise;

Buffer<double> constants(const Numbers &numbers, const Extents &extents) {
  return on_device(numbers, Gradient::untracked).reshape(extents);
}
Buffer<std::int32_t> indices(const std::vector<std::int32_t> &numbers) {
  return Buffer<std::int32_t>(device(), Extents{numbers.size()}, numbers);
}

// A line through points, the last of which is far off.
struct Line {
  LeastSquares problem;
  Buffer<double> values = constants({0, 0}, {1, 2});
  ParameterBlocks parameters;

  explicit Line(const Loss &loss = {}, double outlier = 0, const ParameterOptions &options = {}) {
    parameters = problem.add_parameters("line", values, options);
    Numbers x, y;
    for (int i = 0; i < 20; ++i) x.push_back(i * 0.1), y.push_back(1 + 2 * i * 0.1);
    y.back() += outlier;
    problem.add_residuals(
        "points", [](const Vec2d &line, const Double &x, const Double &y) { return line[0] + line[1] * x - y; },
        {{parameters, Buffer<std::int32_t>(device(), {20})}}, {constants(x, {20}), constants(y, {20})}, {.loss = loss});
  }
};

TEST(LeastSquares, ALinearProblemTakesOneStep) {
  Line line;
  const LeastSquaresReport report = line.problem.solve({.radius = 1e16});
  EXPECT_TRUE(report.converged()) << report;
  EXPECT_THAT(line.values.to_vector(), Pointwise(DoubleNear(1e-9), Numbers{1, 2}));
  EXPECT_LE(report.iterations.back().iteration, 2);
}

// Pictures of points by cameras that are turned and moved: the scene is found again.
struct Scene {
  std::size_t cameras = 4, points = 12;
  Buffer<double> poses, places, truth;
  LeastSquares problem;
  ParameterBlocks of_cameras, of_points;

  explicit Scene(bool eliminated) {
    std::mt19937 random(5);
    Numbers pose, place, seen, near;
    std::vector<std::int32_t> camera_of, point_of;
    for (std::size_t j = 0; j < points; ++j)
      for (int k = 0; k < 3; ++k) place.push_back(uniform(random) + (k == 2 ? 5 : 0));
    for (std::size_t i = 0; i < cameras; ++i) {
      const double angle = 0.1 * static_cast<double>(i);
      pose.insert(pose.end(), {0.3 * static_cast<double>(i), -0.1, 0, 0, std::sin(angle / 2), 0, std::cos(angle / 2)});
      for (std::size_t j = 0; j < points; ++j) {
        const double *p = &place[3 * j], *t = &pose[7 * i];
        const double x = std::cos(angle) * p[0] + std::sin(angle) * p[2] + t[0], y = p[1] + t[1],
                     z = -std::sin(angle) * p[0] + std::cos(angle) * p[2] + t[2];
        seen.insert(seen.end(), {x / z, y / z});
        camera_of.push_back(static_cast<std::int32_t>(i)), point_of.push_back(static_cast<std::int32_t>(j));
      }
    }
    near = place;
    for (double &number : near) number += 0.05 * uniform(random);
    for (std::size_t i = 1; i < cameras; ++i) pose[7 * i] += 0.05, pose[7 * i + 1] -= 0.03;
    poses = constants(pose, {cameras, 7}), places = constants(near, {points, 3}), truth = constants(place, {points, 3});
    of_cameras = problem.add_parameters("cameras", poses, {.manifold = Manifold::se3(), .fixed = {0}});
    of_points = problem.add_parameters("points", places, {.eliminated = eliminated});
    problem.add_residuals("pixels",
                          [](const Transformd &camera, const Vec3d &point, const Vec2d &seen) {
                            const Vec3d p = transform_point(camera, point);
                            return Vec2d(p[0] / p[2] - seen[0], p[1] / p[2] - seen[1]);
                          },
                          {{of_cameras, indices(camera_of)}, {of_points, indices(point_of)}},
                          {constants(seen, {seen.size() / 2, 2})});
    // The size of the scene.
    problem.add_residuals("scale", [](const Vec3d &point, const Vec3d &place) { return point - place; },
                          {{of_points, indices({0})}}, {constants({place[0], place[1], place[2]}, {1, 3})});
  }
};

TEST(LeastSquares, EachSolverFindsTheScene) {
  std::vector<double> costs;
  for (const StepSolver solver :
       {StepSolver::dense_qr, StepSolver::sparse, StepSolver::schur, StepSolver::conjugate_gradients})
    for (const TrustRegion region : {TrustRegion::levenberg_marquardt, TrustRegion::dogleg}) {
      Scene scene(solver == StepSolver::schur);
      const LeastSquaresReport report =
          scene.problem.solve({.trust_region = region, .solver = solver, .inner_tolerance = 1e-12});
      SCOPED_TRACE(report.summary() + report.history());
      EXPECT_TRUE(report.converged());
      EXPECT_LT(report.final_cost, 1e-12);
      EXPECT_THAT(scene.places.to_vector(), Pointwise(DoubleNear(1e-4), scene.truth.to_vector()));
      EXPECT_NEAR(scene.problem.cost(), report.final_cost, 1e-20);
      costs.push_back(report.iterations[1].cost);
    }
  for (std::size_t i = 2; i < costs.size(); i += 2)
    EXPECT_NEAR(costs[i], costs[0], 1e-6 * costs[0]) << "the same first step by each solver";
}

TEST(LeastSquares, TheSummaryHasSizesAndCosts) {
  Scene scene(true);
  const LeastSquaresReport report = scene.problem.solve();
  EXPECT_EQ(report.blocks, 16);
  EXPECT_EQ(report.fixed_blocks, 1);
  EXPECT_EQ(report.parameters, 4 * 7 + 12 * 3);
  EXPECT_EQ(report.effective_parameters, 3 * 6 + 12 * 3);
  EXPECT_EQ(report.residuals, 4 * 12 * 2 + 3);
  EXPECT_THAT(report.summary(), HasSubstr("Schur complement"));
  EXPECT_THAT(report.summary(), HasSubstr("It converged: "));
  EXPECT_THAT(report.to_string(), HasSubstr("least squares converged after"));
  EXPECT_THAT(report.history(), HasSubstr("iter"));
}

// The distance to a target on each manifold, with its minimum at the target; derivatives compared with differences of
// steps.
TEST(LeastSquares, StepsStayOnManifolds) {
  const double s = std::sqrt(0.5);
  struct Case {
    Manifold manifold;
    Numbers start, target;
  };
  const std::vector<Case> cases{
      {Manifold::so2(), {1, 0}, {0, 1}},
      {Manifold::so3(), {0, 0, 0, 1}, {0.5, 0.5, 0.5, 0.5}},
      {Manifold::se2(), {1, 2, 1, 0}, {-1, 0.5, s, s}},
      {Manifold::se3(), {0, 0, 0, 0, 0, 0, 1}, {1, 2, 3, 0.5, -0.5, 0.5, 0.5}},
      {Manifold::sphere(3), {0, 0, 1}, {s, -s, 0}},
      {Manifold({Manifold::sphere(2), Manifold::euclidean(1), Manifold::constant(1)}), {0, -1, 2, 7}, {s, s, 3, 7}}};
  for (const Case &one : cases) {
    SCOPED_TRACE(one.manifold.to_string());
    const auto size = one.start.size();
    LeastSquares problem;
    const Buffer<double> values = constants(one.start, {1, size});
    const ParameterBlocks x = problem.add_parameters("x", values, {.manifold = one.manifold});
    const auto difference = []<int N>(std::integral_constant<int, N>) {
      return [](const Vector<Double, N> &x, const Vector<Double, N> &target) { return x - target; };
    };
    const auto add = [&](auto n) {
      problem.add_residuals("distance", difference(n), {{x, indices({0})}}, {constants(one.target, {1, size})});
    };
    switch (size) {
      case 2: add(std::integral_constant<int, 2>()); break;
      case 3: add(std::integral_constant<int, 3>()); break;
      case 4: add(std::integral_constant<int, 4>()); break;
      default: add(std::integral_constant<int, 7>());
    }
    const LeastSquaresReport report = problem.solve({.cost_tolerance = 0});
    EXPECT_THAT(values.to_vector(), Pointwise(DoubleNear(1e-7), one.target)) << report.history();
    EXPECT_LE(report.iterations.size(), 14u) << "slow where a derivative is wrong\n" << report.history();
  }
}

TEST(LeastSquares, RobustLossesIgnoreAnOutlier) {
  Line squared({}, 30);
  squared.problem.solve();
  EXPECT_GT(std::abs(squared.values.at(0, 1) - 2), 1);
  // The remaining pull of the outlier is at most a few widths over 20 points; those that come back have none.
  const std::pair<Loss, double> losses[] = {{Loss::huber(0.01), 0.02},
                                            {Loss::soft_l1(0.01), 0.02},
                                            {Loss::cauchy(0.01), 1e-3},
                                            {Loss::tukey(10), 1e-6},
                                            {Loss::geman_mcclure(1), 0.01}};
  for (const auto &[loss, bound] : losses) {
    Line line(loss, 30);
    const LeastSquaresReport report = line.problem.solve({.iterations = 200, .cost_tolerance = 1e-12});
    EXPECT_NEAR(line.values.at(0, 1), 2, bound) << static_cast<int>(loss.kind) << report.history();
  }
}

// rho by its definition, of one residual of 3 with the width 2.
TEST(LeastSquares, CostsOfLosses) {
  const double s = 9, a = 4;
  const std::pair<Loss, double> cases[] = {{{}, s},
                                           {Loss::huber(2), 2 * 2 * 3 - a},
                                           {Loss::huber(4), s},
                                           {Loss::soft_l1(2), 2 * a * (std::sqrt(1 + s / a) - 1)},
                                           {Loss::cauchy(2, 0.5), 0.5 * a * std::log(1 + s / a)},
                                           {Loss::tukey(2), a / 3},
                                           {Loss::tukey(4), 16.0 / 3 * (1 - std::pow(1 - s / 16, 3))},
                                           {Loss::geman_mcclure(2), s / (1 + s / a)}};
  for (const auto &[loss, expected] : cases) {
    LeastSquares problem;
    const Buffer<double> x = constants({3}, {1});
    const ParameterBlocks parameters = problem.add_parameters("x", x);
    problem.add_residuals("self", [](const Double &x) { return x; }, {{parameters, indices({0})}}, {}, {.loss = loss});
    EXPECT_NEAR(problem.cost(), expected / 2, 1e-14) << static_cast<int>(loss.kind);
  }
}

TEST(LeastSquares, BoundsHold) {
  for (const StepSolver solver : {StepSolver::dense_qr, StepSolver::sparse}) {
    Line line({}, 0, {.lower = {-1, 0}, .upper = {0.5, 10}});
    const LeastSquaresReport report = line.problem.solve({.solver = solver});
    EXPECT_TRUE(report.converged()) << report.history();
    EXPECT_EQ(line.values.at(0, 0), 0.5);
    double xx = 0, xy = 0;  // the best slope for this value
    for (int i = 0; i < 20; ++i) xx += i * i * 0.01, xy += i * 0.1 * (0.5 + 2 * i * 0.1);
    EXPECT_NEAR(line.values.at(0, 1), xy / xx, 1e-6);
  }
}

TEST(LeastSquares, CovarianceOfALine) {
  Line line;
  line.problem.solve();
  double sum = 0, squares = 0;
  for (int i = 0; i < 20; ++i) sum += i * 0.1, squares += i * i * 0.01;
  const double determinant = 20 * squares - sum * sum;
  EXPECT_THAT(line.problem.covariance(line.parameters, 0),
              Pointwise(DoubleNear(1e-12),
                        Numbers{squares / determinant, -sum / determinant, -sum / determinant, 20 / determinant}));
}

TEST(LeastSquares, EndsForTheReasonThatItStates) {
  const auto ended = [](const LeastSquaresOptions &options) { return Scene(true).problem.solve(options).ended; };
  EXPECT_EQ(ended({.iterations = 1}), LeastSquaresEnd::iterations);
  EXPECT_EQ(ended({.cost_tolerance = 0.99}), LeastSquaresEnd::small_cost_change);
  EXPECT_EQ(ended({.gradient_tolerance = 1e3}), LeastSquaresEnd::small_gradient);
  EXPECT_EQ(ended({.step_tolerance = 10}), LeastSquaresEnd::small_step);
  EXPECT_EQ(ended({.progress = [](const LeastSquaresProgress &) { return false; }}), LeastSquaresEnd::stopped);
}

// A step to a point with a NaN residual is taken back.
TEST(LeastSquares, ComesBackFromNotANumber) {
  LeastSquares problem;
  const Buffer<double> x = constants({3}, {1});
  const ParameterBlocks parameters = problem.add_parameters("x", x);
  problem.add_residuals("logarithm", [](const Double &x) { return log(x); }, {{parameters, indices({0})}});
  const LeastSquaresReport report = problem.solve();
  EXPECT_TRUE(report.converged()) << report.history();
  EXPECT_NEAR(x.at(0), 1, 1e-5);
}

template <class F>
std::string refusal(const F &f) {
  return message_of<UserError>(f);
}

TEST(LeastSquares, RefusesWhatDoesNotFit) {
  LeastSquares problem;
  EXPECT_THAT(refusal([&] { problem.solve(); }), HasSubstr("no parameters"));
  const ParameterBlocks x = problem.add_parameters("x", constants({1, 2, 3, 4}, {2, 2}));
  EXPECT_THAT(refusal([&] { problem.solve(); }), HasSubstr("no residuals"));
  EXPECT_THAT(refusal([&] { problem.add_parameters("r", constants({1, 2}, {1, 2}), {.manifold = Manifold::so3()}); }),
              HasSubstr("blocks of 4 numbers are expected for 'r' (so3), of 2 are given"));
  EXPECT_THAT(refusal([&] { problem.add_parameters("y", constants({1}, {1}), {.fixed = {1}}); }),
              HasSubstr("block 1 of 'y' cannot be fixed: there are 1"));
  EXPECT_THAT(refusal([&] { problem.add_parameters("y", constants({1}, {1}), {.upper = {0}}); }),
              HasSubstr("number 0 of block 0 of 'y' is 1.0"));
  EXPECT_THAT(refusal([&] { Manifold::sphere(1); }), HasSubstr("a sphere has at least 2 numbers, 1 are given"));
  const auto length = [](const Vec2d &x) { return x[0] + x[1]; };
  EXPECT_THAT(refusal([&] { problem.add_residuals("length", length, {{x, indices({0, 2})}}); }),
              HasSubstr("observation 1 of 'length' is of block 2 of 'x', which has 2"));
  EXPECT_THAT(refusal([&] { problem.add_residuals("length", length, {{x, indices({0})}}, {constants({1}, {1})}); }),
              HasSubstr("takes 1 values, and is given 1 blocks and 1 arrays"));
  EXPECT_THAT(refusal([&] { problem.add_residuals("three", [](const Vec3d &x) { return x; }, {{x, indices({0})}}); }),
              HasSubstr("parameter 0 of the function of 'three' takes 3 f64 of each of 2 rows"));
  EXPECT_THAT(refusal([&] { problem.add_residuals("length", length, {{x, indices({0})}}, {}, {Loss::huber(0)}); }),
              HasSubstr("a loss of positive width"));
  EXPECT_THAT(refusal([&] { problem.add_residuals("a length", length, {{x, indices({0})}}); }),
              HasSubstr("a name of letters, digits and _ is expected, 'a length' is given"));
  Line robust(Loss::huber(1));
  EXPECT_THAT(refusal([&] { robust.problem.solve({.acceleration = true}); }),
              HasSubstr("acceleration is for squared losses, and 'points'"));
  problem.add_residuals("length", length, {{x, indices({0})}});
  EXPECT_THAT(refusal([&] { problem.solve(); }), HasSubstr("block 1 of 'x' is in no residual"));
  EXPECT_THAT(refusal([&] { problem.solve({.radius = 0}); }), HasSubstr("a positive radius"));
}

TEST(LeastSquares, NamesWhatIsNotFinite) {
  LeastSquares problem;
  const ParameterBlocks x = problem.add_parameters("x", constants({1, 0}, {2}));
  problem.add_residuals("inverse", [](const Double &x) { return 1.0 / x; }, {{x, indices({0, 1})}});
  EXPECT_THAT(refusal([&] { problem.solve(); }), HasSubstr("residual 0 of observation 1 of 'inverse' is inf"));
  LeastSquares roots;
  const ParameterBlocks y = roots.add_parameters("y", constants({1, 0}, {2}));
  roots.add_residuals("root", [](const Double &x) { return sqrt(x) - 1.0; }, {{y, indices({0, 1})}});
  EXPECT_THAT(refusal([&] { roots.solve(); }), HasSubstr("a derivative of observation 1 of 'root' by block 1 of 'y'"));
}

TEST(LeastSquares, RefusesTwoEliminatedBlocksInAResidual) {
  LeastSquares problem;
  const ParameterBlocks x = problem.add_parameters("x", constants({1, 2}, {2}), {.eliminated = true});
  problem.add_residuals("pairs", [](const Double &a, const Double &b) { return a - b; },
                        {{x, indices({0})}, {x, indices({1})}});
  EXPECT_THAT(refusal([&] { problem.solve(); }), HasSubstr("which are both eliminated"));
}

TEST(LeastSquares, RefusesACovarianceThatDoesNotExist) {
  LeastSquares problem;
  const ParameterBlocks x = problem.add_parameters("x", constants({1, 2}, {1, 2}));
  problem.add_residuals("sum", [](const Vec2d &x) { return x[0] + x[1]; }, {{x, indices({0})}});
  EXPECT_TRUE(problem.solve().converged());
  EXPECT_THAT(refusal([&] { problem.covariance(x, 0); }), HasSubstr("do not determine all parameters"));
  EXPECT_THAT(refusal([&] { problem.covariance(x, 1); }), HasSubstr("no such block"));
}

}  // namespace
}  // namespace samite::test
