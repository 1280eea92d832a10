// Bodies on their orbits: all time steps as one chain of recorded launches, and their distances from the sightings.
#pragma once

#include "nbody_kernels.h"
#include "shared/chain.h"

#include <vector>

namespace nbody {

struct Span {
  int steps = 250;
  int steps_between_sights = 10;
  double dt = 0.01;
  double softening = 0.15;
};

// The state of `count` bodies, in arrays (3, count) and (count).
struct Bodies {
  std::vector<double> x, v, mass;

  int count() const { return static_cast<int>(mass.size()); }
};

// A heavy body in the middle, and the others in a disc around it, on orbits that would be circles if they were alone.
// Always the same.
Bodies disc(int count);

template <class T>
class Orbits {
 public:
  Orbits(Device device, const Bodies &bodies, const Span &span)
      : device_(device),
        interval_(static_cast<std::size_t>(span.steps_between_sights)),
        extents_{3, bodies.count()},
        mass_(device, {bodies.count()}, Gradient::tracked) {
    put(positions_.front(), bodies.x);
    put(velocity_, bodies.v);
    put(mass_, bodies.mass);
    const auto step = gravity_step<T>();
    const auto compare = nbody::mismatch<T>();
    const Extents count{bodies.count()};
    Buffer<T> v = velocity_;
    for (int i = 1; i <= span.steps; ++i) {
      const Buffer<T> next_v = field();
      positions_.push_back(field());
      chain.add(step, count, positions_[i], next_v, positions_[i - 1], v, mass_, static_cast<T>(span.softening),
                static_cast<T>(span.dt));
      v = next_v;
      if (i % span.steps_between_sights != 0) continue;
      seen_.push_back(Buffer<T>(device, extents_));
      chain.add(compare, count, total_, positions_[i], seen_.back());
    }
    total_.gradient().fill(1);  // d(mismatch) / d(mismatch); the adjoint of a sum only reads it
  }

  // Σ |x - seen|² over all bodies and sights.
  double mismatch() {
    total_.fill(0);
    chain.run();
    return total_.at(0);
  }

  // Adds the mismatch's derivatives to the gradients of masses, initial positions and initial velocities, for the
  // states of the last mismatch().
  void add_gradient() { chain.run_adjoint(); }

  // Takes the positions of `others`, which ran before, as sightings.
  void see(const Orbits &others) {
    for (std::size_t k = 0; k < seen_.size(); ++k) seen_[k].copy_from(others.positions_[(k + 1) * interval_]);
  }

  Buffer<T> &mass() { return mass_; }
  Buffer<T> &initial_velocity() { return velocity_; }
  Buffer<T> &position(int step) { return positions_[step]; }

  examples::Chain chain;

 private:
  Buffer<T> field() const { return {device_, extents_, Gradient::tracked}; }
  static void put(Buffer<T> &buffer, const std::vector<double> &values) {
    buffer.copy_from(std::vector<T>(values.begin(), values.end()));
  }

  Device device_;
  std::size_t interval_;
  Extents extents_;
  Buffer<T> mass_, velocity_ = field();
  std::vector<Buffer<T>> positions_{field()}, seen_;
  Buffer<double> total_{device_, {1}, Gradient::tracked};
};

}  // namespace nbody
