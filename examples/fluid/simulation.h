// The fluid over all its time steps as one chain of recorded launches, and its smoke's final distance from a target.
#pragma once

#include "fluid_kernels.h"
#include "shared/chain.h"

#include <vector>

namespace fluid {

struct Box {
  int size = 64;  // cells along each side
  int steps = 24;
  int pressure_iterations = 16;  // in each step
  double dt = 1;
};

template <class T>
class Simulation {
 public:
  // Velocity and smoke begin as zeros.
  Simulation(Device device, const Box &box) : device_(device), extents_{box.size, box.size} {
    const auto move_velocity = advect_velocity<T>();
    const auto diverge = divergence<T>();
    const auto relax = relax_pressure<T>();
    const auto make_free = project<T>();
    const auto move_smoke = advect_smoke<T>();
    const T dt = static_cast<T>(box.dt);

    Buffer<T> v_y = v_y_, v_x = v_x_, pressure = field();
    for (int step = 0; step < box.steps; ++step) {
      Buffer<T> moved_y = field(), moved_x = field(), source = field();
      chain.add(move_velocity, extents_, moved_y, moved_x, v_y, v_x, dt);
      chain.add(diverge, extents_, source, moved_y, moved_x);
      for (int i = 0; i < box.pressure_iterations; ++i) {
        Buffer<T> next = field();
        chain.add(relax, extents_, next, pressure, source);
        pressure = next;
      }
      v_y = field(), v_x = field();
      chain.add(make_free, extents_, v_y, v_x, moved_y, moved_x, pressure);
      smoke_.push_back(field());
      chain.add(move_smoke, extents_, smoke_[step + 1], smoke_[step], v_y, v_x, dt);
    }
    chain.add(fluid::mismatch<T>(), extents_, total_, smoke_.back(), target_);
    total_.gradient().fill(1);  // d(mismatch) / d(mismatch); the adjoint of a sum only reads it
  }

  // Σ (smoke - target)² at the end.
  double mismatch() {
    total_.fill(0);
    chain.run();
    return total_.at(0);
  }

  // Adds the mismatch's derivatives to the gradients of the initial fields, for the states of the last mismatch().
  void add_gradient() { chain.run_adjoint(); }

  Buffer<T> &initial_v_y() { return v_y_; }
  Buffer<T> &initial_v_x() { return v_x_; }
  Buffer<T> &smoke(int step) { return smoke_[step]; }
  Buffer<T> &target() { return target_; }

  examples::Chain chain;

 private:
  Buffer<T> field() const { return {device_, extents_, Gradient::tracked}; }

  Device device_;
  Extents extents_;
  Buffer<T> v_y_ = field(), v_x_ = field(), target_{device_, extents_};
  std::vector<Buffer<T>> smoke_{field()};
  Buffer<double> total_{device_, {1}, Gradient::tracked};
};

}  // namespace fluid
