// The scene to be found, and the initial scene of the search.
#pragma once

#include <vector>

namespace ray_marcher {

inline constexpr int blobs = 6;

// For each blob: centre, radius, colour. Lengths are in units of about the scene's radius.
std::vector<double> hidden_scene();

// Grey balls.
std::vector<double> first_guess();

}  // namespace ray_marcher
