// Whether a gradient is the derivative: component by component, compared with central differences.
#pragma once

#include <samite/samite.h>

#include <functional>
#include <vector>

namespace examples {

struct GradientCheck {
  int components = 0;
  // The largest |gradient - difference| / |difference|; a difference below a hundredth of the largest counts as that
  // hundredth, because it suffers from cancellation.
  double largest_error = 0;
};

// `objective` computes a number from `inputs`, whose gradients hold its derivative; both in double, because differences
// of floats keep at most half of the digits. Each component is moved by `width` up and down. If an input has more than
// `components`, this many are checked, evenly spread. The inputs are unchanged when it returns.
GradientCheck check_gradient(const std::function<double()> &objective, std::vector<samite::Buffer<double>> inputs,
                             double width, int components = 1024);

}  // namespace examples
