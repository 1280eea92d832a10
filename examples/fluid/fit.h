// Finds the initial velocity that carries the smoke into the target's shape.
#pragma once

#include "simulation.h"

#include <functional>

namespace fluid {

// The mismatch before each iteration, and after the last. `progress` is called for each iteration with its mismatch.
std::vector<double> fit(Simulation<float> &simulation, int iterations,
                        const std::function<void(int iteration, double mismatch)> &progress);

}  // namespace fluid
