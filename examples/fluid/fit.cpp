#include "fit.h"

#include "shared/adam.h"

#include <cmath>

namespace fluid {

std::vector<double> fit(Simulation<float> &simulation, int iterations,
                        const std::function<void(int iteration, double mismatch)> &progress) {
  examples::Adam adam({simulation.initial_v_y(), simulation.initial_v_x()});
  std::vector<double> mismatches;
  for (int k = 0; k < iterations; ++k) {
    mismatches.push_back(simulation.mismatch());
    simulation.add_gradient();
    // Large steps first, small ones to settle.
    adam.step(static_cast<float>(0.04 * std::pow(0.1, double(k) / iterations)));
    progress(k + 1, mismatches.back());
  }
  mismatches.push_back(simulation.mismatch());
  return mismatches;
}

}  // namespace fluid
