// Whether the adjoint of the whole chain is the derivative of the chain.
#pragma once

#include "inverse_problem.h"
#include "shared/image.h"

namespace inverse_heat {

using examples::Image;

struct GradientCheck {
  int components = 0;
  double largest_error = 0;  // of |adjoint - difference| / |difference|, over all components
};

// Compares ∇f, from the adjoints of the same kernels in double, with central differences in double, pixel by pixel.
GradientCheck check_gradient(Device device, const Image &image, Diffusion diffusion);

}  // namespace inverse_heat
