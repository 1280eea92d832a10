#include "scenes.h"

namespace ray_marcher {

std::vector<double> hidden_scene() {
  return {
      0.0,  0.2,   0.0,  0.58, 0.85, 0.33, 0.20,  // a body,
      0.0,  -0.62, -0.1, 0.40, 0.90, 0.66, 0.25,  // a head,
      -0.8, -0.15, 0.1,  0.24, 0.20, 0.45, 0.70,  // two arms,
      0.8,  -0.45, 0.1,  0.24, 0.20, 0.45, 0.70,  //
      -0.4, 0.75,  -0.1, 0.26, 0.30, 0.55, 0.30,  // and two feet
      0.4,  0.75,  -0.1, 0.26, 0.30, 0.55, 0.30,
  };
}

std::vector<double> first_guess() {
  // Each is near its blob, because the search does not look for the assignment.
  constexpr double balls[blobs][3] = {{0, 0.1, 0.5},    {0, -0.7, 0.3},   {-0.7, 0, 0.2},
                                      {0.7, -0.3, 0.2}, {-0.3, 0.6, 0.2}, {0.3, 0.6, 0.2}};
  std::vector<double> scene;
  for (const auto &[x, y, radius] : balls)
    for (const double value : {x, y, 0.0, radius, 0.5, 0.5, 0.5}) scene.push_back(value);
  return scene;
}

}  // namespace ray_marcher
