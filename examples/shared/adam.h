// Adam: descent with steps of one size, whatever the scale of the gradient.
//
//   m' = β₁ m + (1 - β₁) ∇f,  v' = β₂ v + (1 - β₂) (∇f)²,  x' = x - rate m̂' / (√v̂' + ε)
//
// Source: D. P. Kingma, J. Ba, Adam: A Method for Stochastic Optimization, ICLR 2015, algorithm 1, with β₁ = 0.9, β₂ =
// 0.999, ε = 10⁻⁸; m̂ and v̂ are m and v corrected for their initial zeros.
#pragma once

#include <samite/samite.h>

#include <vector>

namespace examples {

class Adam {
 public:
  // The parameters track gradients.
  explicit Adam(const std::vector<samite::Buffer<float>> &parameters);

  // Moves the parameters against their gradients, and sets these to zero for the next round.
  void step(float rate);

 private:
  std::vector<samite::Launch> launches_;
  int steps_ = 0;
};

}  // namespace examples
