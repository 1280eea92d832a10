// A cloth thrown through the air: all its time steps as one chain of recorded launches, and its distance from a target
// at the end.
#pragma once

#include "cloth_kernels.h"
#include "shared/chain.h"

#include <vector>

namespace cloth {

struct Cloth {
  int side = 32;  // particles along each edge, of one metre
  int steps = 400;
  double duration = 1;      // of the throw, in seconds
  double stiffness = 4000;  // 1/s²
  double drag = 0.2;        // 1/s

  double spacing() const { return 1.0 / (side - 1); }
};

// The position of each particle, in metres; y points upwards. As arrays (3, side, side).
std::vector<double> held(const Cloth &cloth);    // upright, in the plane z = 0
std::vector<double> target(const Cloth &cloth);  // upright, three metres along x, turned to face the thrower

template <class T>
class Throw {
 public:
  // At rest in the thrower's hands.
  Throw(Device device, const Cloth &cloth) : device_(device), cloth_(cloth) {
    const auto step = cloth_step<T>();
    const Extents grid{cloth.side, cloth.side};
    auto number = [](double value) { return static_cast<T>(value); };
    Buffer<T> v = velocity_;
    for (int i = 0; i < cloth.steps; ++i) {
      const Buffer<T> next_v = field();
      positions_.push_back(field());
      chain.add(step, grid, positions_[i + 1], next_v, positions_[i], v, number(cloth.spacing()),
                number(cloth.stiffness), number(cloth.drag), number(cloth.duration / cloth.steps));
      v = next_v;
    }
    chain.add(cloth::mismatch<T>(), grid, total_, positions_.back(), target_);
    total_.gradient().fill(1);  // d(mismatch) / d(mismatch); the adjoint of a sum only reads it
    put(positions_.front(), held(cloth));
    put(target_, cloth::target(cloth));
  }

  // Σ |x - target|² at the end, in m².
  double mismatch() {
    total_.fill(0);
    chain.run();
    return total_.at(0);
  }

  // Adds the mismatch's derivatives to the gradients of the initial velocity, for the states of the last mismatch().
  void add_gradient() { chain.run_adjoint(); }

  Buffer<T> &initial_velocity() { return velocity_; }
  Buffer<T> &position(int step) { return positions_[step]; }

  examples::Chain chain;

 private:
  Buffer<T> field() const { return {device_, {3, cloth_.side, cloth_.side}, Gradient::tracked}; }
  static void put(Buffer<T> &buffer, const std::vector<double> &values) {
    buffer.copy_from(std::vector<T>(values.begin(), values.end()));
  }

  Device device_;
  Cloth cloth_;
  Buffer<T> velocity_ = field(), target_{device_, {3, cloth_.side, cloth_.side}};
  std::vector<Buffer<T>> positions_{field()};
  Buffer<double> total_{device_, {1}, Gradient::tracked};
};

}  // namespace cloth
