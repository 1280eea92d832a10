// Nonlinear least squares: a curve through samples with the derivative of its slope with respect to each sample, and
// the path of a robot from its measured moves, with the covariance of its places.
#include <samite/samite.h>
#include <samite/solve.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <numbers>
#include <vector>

using namespace samite;
using namespace samite::solvers;

namespace {

const Device device = Device::preferred();

void check(bool right, const char *what) {
  std::printf("%-28s %s\n", what, right ? "as expected" : "WRONG");
  if (!right) std::exit(1);
}

// The distance of a sample from the curve y = exp(slope x + offset).
const auto miss = [](const Vec2d &curve, const Double &x, const Double &y) { return y - exp(curve[0] * x + curve[1]); };

// The gradient of half the sum of squares with respect to the curve: the best curve has zero.
const Kernel gradient_of_squares{
    "gradient_of_squares",
    {"gradient", "curve", "x", "y"},
    [](Array<double, 1> gradient, Array<const double, 1> curve, Array<const double, 1> x, Array<const double, 1> y) {
      const Int i = thread_index();
      const Vec2d at(curve(0), curve(1));
      const auto [of_curve, of_x, of_y] = adjoint_of(miss)(at, x(i), y(i), miss(at, x(i), y(i)));
      atomic_add(gradient(0), of_curve[0]);
      atomic_add(gradient(1), of_curve[1]);
    }};

constexpr int samples = 67;

struct Fit {
  Buffer<double> curve{device, {2}, Gradient::tracked}, x{device, {samples}}, y{device, {samples}, Gradient::tracked};
  LeastSquares problem;

  explicit Fit(const std::vector<double> &measured) {
    y.copy_from(std::span<const double>(measured));
    for (int i = 0; i < samples; ++i) x.set({i}, 0.075 * i);
    Buffer<std::int32_t> first{device, {samples}};  // zeros: all samples are of block 0
    ParameterBlocks of_curve = problem.add_parameters("curve", curve.reshape({1, 2}));
    problem.add_residuals("samples", miss, {{of_curve, first}}, {x, y});
  }
  double slope() {
    problem.solve({.cost_tolerance = 0});
    return curve.at(0);
  }
};

void curve_of_samples() {
  std::vector<double> measured;
  for (int i = 0; i < samples; ++i) measured.push_back(std::exp(0.3 * 0.075 * i + 0.1) + 0.2 * std::sin(7.0 * i));
  Fit fit(measured);
  auto &[curve, x, y, problem] = fit;
  Tape tape;
  tape.record([&] {
    auto gradient_at = [&](const AnyBuffer &at, const AnyBuffer &gradient) {
      Buffer<double>(gradient).fill(0);
      gradient_of_squares.launch({samples}, Buffer<double>(gradient), Buffer<double>(at), x, y);
    };
    implicit(gradient_at, curve, {y}, [&] { problem.solve({.cost_tolerance = 0}); }, {.symmetric = true});
  });
  tape.backward({{curve, Buffer<double>{device, {2}, {1, 0}}}});  // y.gradient() is d slope / d y
  std::printf("y = exp(%.4f x + %.4f)\n", curve.at(0), curve.at(1));
  check(std::abs(curve.at(0) - 0.3) < 0.02 && std::abs(curve.at(1) - 0.1) < 0.05, "curve");

  double error = 0;
  for (const int i : {0, 33, 66}) {
    std::vector<double> less = measured, more = measured;
    const auto at = static_cast<std::size_t>(i);
    less[at] -= 1e-4, more[at] += 1e-4;
    const double difference = (Fit(more).slope() - Fit(less).slope()) / 2e-4;
    error = std::max(error, std::abs(y.gradient().at(i) - difference));
  }
  check(error < 1e-8, "derivative of the slope");
}

using Pose = Vec4d;  // x, y, cos, sin

// b as a sees it.
Pose between(const Pose &a, const Pose &b) {
  const Double x = b[0] - a[0], y = b[1] - a[1];
  return Pose(a[2] * x + a[3] * y, a[2] * y - a[3] * x, a[2] * b[2] + a[3] * b[3], a[2] * b[3] - a[3] * b[2]);
}
// A difference of poses, in standard deviations of the place and the angle.
Vec3d whitened(const Pose &difference, double place, double angle) {
  return Vec3d(difference[0] / place, difference[1] / place, atan2(difference[3], difference[2]) / angle);
}

// The robot drives once round a square, and back to the second place.
void path_of_a_robot() {
  const double turn = std::numbers::pi / 2;
  std::vector<double> guess, moves;
  for (const auto &[x, y, angle] : {std::array{0.5, 0.0, 0.2}, std::array{2.3, 0.1, -0.2}, std::array{4.1, 0.1, turn},
                                    std::array{4.0, 2.0, 2 * turn}, std::array{2.1, 2.1, -turn}})
    guess.insert(guess.end(), {x, y, std::cos(angle), std::sin(angle)});
  for (const double angle : {0.0, turn, turn, turn, turn})
    moves.insert(moves.end(), {2, 0, std::cos(angle), std::sin(angle)});

  Buffer<double> poses{device, {5, 4}, guess}, measured{device, {5, 4}, moves}, origin{device, {1, 4}, {0, 0, 1, 0}};
  Buffer<std::int32_t> from{device, {5}, {0, 1, 2, 3, 4}}, to{device, {5}, {1, 2, 3, 4, 1}}, first{device, {1}};

  LeastSquares graph;
  ParameterBlocks of_poses = graph.add_parameters("poses", poses, {.manifold = Manifold::se2()});
  graph.add_residuals("prior",
                      [](const Pose &pose, const Pose &origin) { return whitened(between(origin, pose), 0.3, 0.1); },
                      {{of_poses, first}}, {origin});
  graph.add_residuals("moves",
                      [](const Pose &a, const Pose &b, const Pose &measured) {
                        return whitened(between(measured, between(a, b)), 0.2, 0.1);
                      },
                      {{of_poses, from}, {of_poses, to}}, {measured});
  LeastSquaresReport report = graph.solve();
  std::vector<double> covariance = graph.covariance(of_poses, 4);  // 3 x 3: x and y in the robot's frame, the angle
  std::cout << report << '\n';
  std::printf("place 4: %.3f %.3f, deviations %.3f %.3f\n", poses.at(4, 0), poses.at(4, 1), std::sqrt(covariance[0]),
              std::sqrt(covariance[4]));

  // The moves agree with each other, and only the prior says where the path begins.
  const double expected[] = {0, 0, 1, 0, 2, 0, 1, 0, 4, 0, 0, 1, 4, 2, -1, 0, 2, 2, 0, -1};
  double error = 0;
  const std::vector<double> found = poses.to_vector();
  for (std::size_t i = 0; i < found.size(); ++i) error = std::max(error, std::abs(found[i] - expected[i]));
  check(report.converged() && error < 1e-5, "path");
  covariance = graph.covariance(of_poses, 0);
  const double prior[] = {0.09, 0, 0, 0, 0.09, 0, 0, 0, 0.01};
  error = 0;
  for (std::size_t i = 0; i < 9; ++i) error = std::max(error, std::abs(covariance[i] - prior[i]));
  check(error < 1e-6, "covariance of the first place");
}

}  // namespace

int main() {
  curve_of_samples();
  path_of_a_robot();
}
