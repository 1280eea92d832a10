// The same bundle adjustment with Ceres.
#pragma once

#include <cstdint>
#include <vector>

namespace samite::bench {

// Cameras of 9 numbers (a rotation as axis times angle, a translation, focal length, two of distortion), points of 3.
struct Bundle {
  std::vector<double> cameras, points, pixels;
  std::vector<std::int32_t> camera_of, point_of;
};

struct BundleResult {
  double initial_cost, final_cost, seconds;  // of processors
  int iterations;
};

// Changes the cameras and points. Uses the dense Schur complement, in two threads.
BundleResult adjust_by_ceres(Bundle &bundle, int iterations);

}  // namespace samite::bench
