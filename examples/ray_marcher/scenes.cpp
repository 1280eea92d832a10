#include "scenes.h"

#include <cmath>
#include <numbers>

namespace ray_marcher {

std::vector<double> hidden_scene() {
  return {
      0.0,  0.42,  0.0,  0.62, 0.85, 0.33, 0.20,  // a body,
      0.0,  -0.45, -0.1, 0.42, 0.90, 0.66, 0.25,  // a head,
      -0.8, 0.05,  0.1,  0.24, 0.20, 0.45, 0.70,  // two arms,
      0.8,  -0.25, 0.1,  0.24, 0.20, 0.45, 0.70,  //
      -0.4, 1.0,   -0.1, 0.26, 0.30, 0.55, 0.30,  // and two feet
      0.4,  1.0,   -0.1, 0.26, 0.30, 0.55, 0.30,
  };
}

std::vector<double> first_guess() {
  std::vector<double> scene;
  // Each begins near the blob that it will become: which is which is not what is sought.
  constexpr double around[blobs] = {0.25, 0.75, 0.5, 0.0, 0.375, 0.125};
  for (const double turn : around) {
    const double angle = 2 * std::numbers::pi * turn;
    for (const double value : {0.6 * std::cos(angle), 0.2 + 0.6 * std::sin(angle), 0.0, 0.32, 0.5, 0.5, 0.5})
      scene.push_back(value);
  }
  return scene;
}

}  // namespace ray_marcher
