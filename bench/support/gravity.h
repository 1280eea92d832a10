// Gravity among bodies as a Samite kernel, and bodies for it and for its peers.
#pragma once

#include "bench/peers/nbody.h"
#include "samite/samite.h"

namespace samite::bench {

using Gravity = Kernel<void(Array<float, 1>, Array<float, 1>, Array<float, 1>, Array<const float, 1>,
                            Array<const float, 1>, Array<const float, 1>, Array<const float, 1>, Float)>;
Gravity gravity();

inline constexpr float softening = 0.05f;

// Bodies at random in a unit cube, and their accelerations. The peer writes into memory of its own.
struct Galaxy {
  explicit Galaxy(int count);

  int count;
  Buffer<float> x, y, z, mass, ax, ay, az;  // all track gradients
  Buffer<float> peer_x, peer_y, peer_z, peer_mass;

  Launch record(const Gravity &kernel, Direction direction) const;
  Bodies bodies() const { return {count, softening, x.data(), y.data(), z.data(), mass.data()}; }
  Vectors peer() const { return {peer_x.data(), peer_y.data(), peer_z.data()}; }
};

}  // namespace samite::bench
