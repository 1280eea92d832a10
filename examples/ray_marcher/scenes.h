// The scene that is to be found, and the one that the search begins with.
#pragma once

#include <vector>

namespace ray_marcher {

inline constexpr int blobs = 6;

// Of each blob: centre, radius, colour. Lengths are in units of about the scene's radius.
std::vector<double> hidden_scene();

// Grey balls.
std::vector<double> first_guess();

}  // namespace ray_marcher
