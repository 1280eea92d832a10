#include "gradient_check.h"

#include <algorithm>
#include <cmath>

namespace inverse_heat {

GradientCheck check_gradient(Device device, const Image &image, Diffusion diffusion) {
  InverseProblem<double> problem(device, {image.height, image.width}, diffusion);
  problem.initial().copy_from(std::vector<double>(image.pixels.begin(), image.pixels.end()));
  problem.diffuse();
  problem.target().copy_from(problem.diffused());
  problem.initial().copy_from(problem.target());  // the start of the descent

  problem.misfit();
  problem.add_gradient();

  // f is quadratic: central differences have no truncation error at any width, and a wide one rounds least.
  constexpr double width = 0.5;
  const Buffer<double> gradient = problem.initial().gradient();
  GradientCheck check;
  for (int y = 0; y < image.height; ++y)
    for (int x = 0; x < image.width; ++x) {
      const double value = problem.initial().at(y, x);
      problem.initial().set({y, x}, value + width);
      const double above = problem.misfit();
      problem.initial().set({y, x}, value - width);
      const double below = problem.misfit();
      problem.initial().set({y, x}, value);
      const double difference = (above - below) / (2 * width);
      const double error = std::abs(gradient.at(y, x) - difference) / std::abs(difference);
      check.largest_error = std::isnan(error) ? HUGE_VAL : std::max(check.largest_error, error);
      ++check.components;
    }
  return check;
}

}  // namespace inverse_heat
