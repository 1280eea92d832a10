#include "bench/ceres/bundle_adjustment.h"

#include <ceres/ceres.h>
#include <ceres/rotation.h>
#include <ctime>

namespace samite::bench {
namespace {

struct Pixel {
  double x, y;

  template <class T>
  bool operator()(const T *camera, const T *point, T *residual) const {
    T p[3];
    ceres::AngleAxisRotatePoint(camera, point, p);
    for (int i = 0; i < 3; ++i) p[i] += camera[3 + i];
    const T u = p[0] / p[2], v = p[1] / p[2], r = u * u + v * v;
    const T scale = camera[6] * (T(1) + r * (camera[7] + camera[8] * r));
    residual[0] = scale * u - x;
    residual[1] = scale * v - y;
    return true;
  }
};

}  // namespace

BundleResult adjust_by_ceres(Bundle &bundle, int iterations) {
  const std::clock_t start = std::clock();
  ceres::Problem problem;
  auto ordering = std::make_shared<ceres::ParameterBlockOrdering>();
  for (std::size_t i = 0; i < bundle.camera_of.size(); ++i) {
    double *camera = &bundle.cameras[9 * static_cast<std::size_t>(bundle.camera_of[i])],
           *point = &bundle.points[3 * static_cast<std::size_t>(bundle.point_of[i])];
    problem.AddResidualBlock(
        new ceres::AutoDiffCostFunction<Pixel, 2, 9, 3>(new Pixel{bundle.pixels[2 * i], bundle.pixels[2 * i + 1]}),
        nullptr, camera, point);
    ordering->AddElementToGroup(point, 0);
    ordering->AddElementToGroup(camera, 1);
  }
  ceres::Solver::Options options;
  options.linear_solver_type = ceres::DENSE_SCHUR;
  options.linear_solver_ordering = ordering;
  options.num_threads = 2;
  options.max_num_iterations = iterations;
  options.logging_type = ceres::SILENT;
  ceres::Solver::Summary summary;
  ceres::Solve(options, &problem, &summary);
  const double seconds = static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC;
  return {summary.initial_cost, summary.final_cost, seconds, static_cast<int>(summary.iterations.size()) - 1};
}

}  // namespace samite::bench
