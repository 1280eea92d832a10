// The forward model and its misfit as recorded launches, and the adjoints of all of them in reverse.
//
//   f(u₀) = Σ (u_steps(u₀) - target)²
//
// Each step writes to a buffer of its own, so the chain is its launches in order, and its adjoint is their adjoints in
// reverse order: no step looks anything up, allocates, or copies.
#pragma once

#include "heat_kernels.h"

#include <vector>

namespace inverse_heat {

struct Diffusion {
  int steps;
  double rate;  // r of the scheme in heat_kernels.h
};

template <class T>
class InverseProblem {
 public:
  InverseProblem(Device device, const Extents &extents, Diffusion diffusion) : target_(device, extents) {
    for (int i = 0; i <= diffusion.steps; ++i) states_.emplace_back(device, extents, Gradient::tracked);
    const auto step = diffusion_step<T>();
    const auto error = squared_error<T>();
    const LaunchOptions adjoint{.direction = Direction::adjoint};
    const T rate = static_cast<T>(diffusion.rate);
    for (std::size_t i = 1; i < states_.size(); ++i) {
      steps_.push_back(step.record(extents, states_[i], states_[i - 1], rate));
      step_adjoints_.push_back(step.record(extents, adjoint, states_[i], states_[i - 1], rate));
    }
    misfit_.push_back(error.record(extents, total_, states_.back(), target_));
    misfit_.push_back(error.record(extents, adjoint, total_, states_.back(), target_));
    total_.gradient().fill(1);  // df/df; the adjoint of a sum only reads it
  }

  Buffer<T> &initial() { return states_.front(); }
  Buffer<T> &diffused() { return states_.back(); }
  Buffer<T> &target() { return target_; }

  void diffuse() {
    for (Launch &step : steps_) step.launch();
  }

  // f at initial().
  double misfit() {
    diffuse();
    total_.fill(0);
    misfit_[0].launch();
    return total_.at(0);
  }

  // Adds ∇f to the gradient of initial(), for the states of the last misfit(). The gradients in between are passed on
  // from step to step and end as zeros again.
  void add_gradient() {
    misfit_[1].launch();
    for (auto adjoint = step_adjoints_.rbegin(); adjoint != step_adjoints_.rend(); ++adjoint) adjoint->launch();
  }

  const Launch &first_step(Direction direction) const {
    return direction == Direction::forward ? steps_.front() : step_adjoints_.front();
  }
  const Launch &misfit_launch(Direction direction) const { return misfit_[direction == Direction::forward ? 0 : 1]; }

 private:
  std::vector<Buffer<T>> states_;
  Buffer<T> target_;
  Buffer<double> total_{target_.device(), {1}, Gradient::tracked};
  std::vector<Launch> steps_, step_adjoints_, misfit_;
};

}  // namespace inverse_heat
