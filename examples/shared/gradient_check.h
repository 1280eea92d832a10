// Whether a gradient is the derivative: component by component, against central differences.
#pragma once

#include <samite/samite.h>

#include <functional>
#include <vector>

namespace examples {

struct GradientCheck {
  int components = 0;
  // Of |gradient - difference| / |difference|; a difference below a hundredth of the largest counts as that hundredth,
  // since what it is made of cancels.
  double largest_error = 0;
};

// `objective` computes a number from `inputs`, whose gradients hold its derivative; both in double, since differences
// of floats leave half of the digits at most. Each component is moved by `width` up and down. Where there are more than
// `components` of an input, that many are checked, spread evenly. The inputs are as before when it returns.
GradientCheck check_gradient(const std::function<double()> &objective, std::vector<samite::Buffer<double>> inputs,
                             double width, int components = 1024);

}  // namespace examples
