// Recovers the image before diffusion from the image after it.
#pragma once

#include "inverse_problem.h"

#include <functional>
#include <vector>

namespace inverse_heat {

struct Descent {
  std::vector<float> recovered;
  std::vector<double> losses;  // before each iteration
};

// Minimises the problem's f, starting from the diffused image, with one launch for each step and each adjoint step.
// `progress` is called for each iteration with its loss.
Descent descend(InverseProblem<float> &problem, int iterations,
                const std::function<void(int iteration, double loss)> &progress);

}  // namespace inverse_heat
