// Bundle adjustment of synthetic pictures to the same cost, compared with Ceres, with cameras of nine numbers. In
// processor seconds, set-up included, kernels from the cache. Arguments: cameras, points, pictures of each point.
#include "bench/ceres/bundle_adjustment.h"
#include "bench/support/report.h"
#include "samite/samite.h"
#include "samite/solve.h"

#include <fmt/core.h>

#include <cmath>
#include <cstdlib>
#include <ctime>
#include <random>

using namespace samite;
using namespace samite::solvers;

namespace {

using Camera = Vector<Double, 9>;

Vec2d projection(const Camera &camera, const Vec3d &point) {
  const Vec3d axis(camera[0], camera[1], camera[2]);
  const Double squared = dot(axis, axis), angle = sqrt(max(squared, 1e-30));
  const Double sine = sin(angle) / angle, cosine = cos(angle), rest = (1.0 - cosine) / (angle * angle);
  const Vec3d turned = point * cosine + cross(axis, point) * sine + axis * (dot(axis, point) * rest);
  const Vec3d p = turned + Vec3d(camera[3], camera[4], camera[5]);
  const Double u = p[0] / p[2], v = p[1] / p[2], r = u * u + v * v;
  const Double scale = camera[6] * (1.0 + r * (camera[7] + camera[8] * r));
  return Vec2d(scale * u, scale * v);
}

// A camera's picture of a point, on the host.
std::array<double, 2> seen(const double *camera, const double *point) {
  const double angle = std::sqrt(camera[0] * camera[0] + camera[1] * camera[1] + camera[2] * camera[2]);
  const double sine = std::sin(angle) / angle, cosine = std::cos(angle), rest = (1 - cosine) / (angle * angle);
  const double along = camera[0] * point[0] + camera[1] * point[1] + camera[2] * point[2];
  double p[3];
  for (int i = 0; i < 3; ++i) {
    const int j = (i + 1) % 3, k = (i + 2) % 3;
    p[i] = point[i] * cosine + (camera[j] * point[k] - camera[k] * point[j]) * sine + camera[i] * along * rest +
           camera[3 + i];
  }
  const double u = p[0] / p[2], v = p[1] / p[2], r = u * u + v * v;
  const double scale = camera[6] * (1 + r * (camera[7] + camera[8] * r));
  return {scale * u, scale * v};
}

bench::Bundle made_bundle(int cameras, int points, int pictures) {
  std::mt19937 random(3);
  std::normal_distribution<double> normal;
  bench::Bundle bundle;
  for (int i = 0; i < cameras; ++i) {
    const double side = 4.0 * i / cameras - 2;
    const double camera[] = {0.05 * normal(random),
                             0.1 * side + 0.05 * normal(random),
                             0.05 * normal(random),
                             -side,
                             0.2 * normal(random),
                             8 + 0.2 * normal(random),
                             800,
                             -0.05,
                             0.01};
    bundle.cameras.insert(bundle.cameras.end(), camera, camera + 9);
  }
  for (int j = 0; j < 3 * points; ++j) bundle.points.push_back(2 * normal(random) / (j % 3 == 2 ? 2 : 1));
  for (int j = 0; j < points; ++j)
    for (int k = 0; k < pictures; ++k) {
      // Neighbours along the way, as in a film.
      const int i = (j * 7 + k) % cameras;
      const auto pixel =
          seen(&bundle.cameras[9 * static_cast<std::size_t>(i)], &bundle.points[3 * static_cast<std::size_t>(j)]);
      bundle.camera_of.push_back(i), bundle.point_of.push_back(j);
      bundle.pixels.push_back(pixel[0] + 0.5 * normal(random)),
          bundle.pixels.push_back(pixel[1] + 0.5 * normal(random));
    }
  for (std::size_t i = 0; i < bundle.cameras.size(); ++i)
    bundle.cameras[i] += (i % 9 < 6 ? 0.005 : i % 9 == 6 ? 5.0 : 0.0) * normal(random);
  for (double &number : bundle.points) number += 0.05 * normal(random);
  return bundle;
}

bench::BundleResult adjust(bench::Bundle &bundle, int iterations) {
  const std::clock_t start = std::clock();
  const Device device = Device::cpu();
  const std::size_t count = bundle.camera_of.size();
  Buffer<double> cameras{device, {bundle.cameras.size() / 9, 9}, bundle.cameras},
      points{device, {bundle.points.size() / 3, 3}, bundle.points}, pixels{device, {count, 2}, bundle.pixels};
  const Buffer<std::int32_t> camera_of{device, {count}, bundle.camera_of}, point_of{device, {count}, bundle.point_of};
  LeastSquares problem;
  const ParameterBlocks of_cameras = problem.add_parameters("cameras", cameras);
  const ParameterBlocks of_points = problem.add_parameters("points", points, {.eliminated = true});
  problem.add_residuals(
      "pixels",
      [](const Camera &camera, const Vec3d &point, const Vec2d &pixel) { return projection(camera, point) - pixel; },
      {{of_cameras, camera_of}, {of_points, point_of}}, {pixels});
  const LeastSquaresReport report = problem.solve({.iterations = iterations});
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  if (std::getenv("SAMITE_BENCH_VERBOSE") != nullptr) fmt::print(stderr, "{}{}", report.history(), report.summary());
  return {report.initial_cost, report.final_cost, seconds, static_cast<int>(report.iterations.back().iteration)};
}

}  // namespace

int main(int argc, char **argv) {
  const auto argument = [&](int i, int otherwise) { return argc > i ? std::atoi(argv[i]) : otherwise; };
  const int cameras = argument(1, 50), points = argument(2, 20000), pictures = argument(3, 5);
  return bench::run("bundle_adjustment", [&](bench::Report &report) {
    const bench::Bundle bundle = made_bundle(cameras, points, pictures);
    double ours = 1e300, peer = 1e300;
    bench::BundleResult last{}, other{};
    for (int round = 0; round < 3; ++round) {
      bench::Bundle mine = bundle, theirs = bundle;
      last = adjust(mine, 50), other = bench::adjust_by_ceres(theirs, 50);
      ours = std::min(ours, last.seconds), peer = std::min(peer, other.seconds);
    }
    fmt::print(stderr, "cost {:.9g} to {:.9g} in {} iterations; Ceres {:.9g} to {:.9g} in {}\n", last.initial_cost,
               last.final_cost, last.iterations, other.initial_cost, other.final_cost, other.iterations);
    bench::require_close(last.final_cost, other.final_cost, 1e-4, "cost");
    report.add({fmt::format("{} cameras, {} points, {} pictures", cameras, points, points * pictures),
                "processor time to the same cost", ours * 1e3, "ms", "Ceres, DENSE_SCHUR, 2 threads", peer * 1e3},
               {.ratio_at_least = 2});
  });
}
