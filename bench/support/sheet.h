// One time step of the cloth of examples/cloth as a Samite launch, and a cloth for it and for its peer.
#pragma once

#include "bench/peers/cloth.h"
#include "samite/samite.h"

namespace samite::bench {

// A crumpled cloth; its particles move at random. The peer writes into memory of its own.
struct Sheet {
  explicit Sheet(int side);

  int side;
  float spacing, stiffness = 4000, drag = 0.2f, dt = 0.0025f;
  Buffer<float> x, v, next_x, next_v;  // all track gradients
  Buffer<float> peer_x, peer_v;        // the peer's results: next_x and next_v, or the gradients of x and v
  Buffer<float> cotangent_x, cotangent_v, peer_cotangent_x, peer_cotangent_v;

  Launch record(Direction direction) const;
  ClothStep step() const { return {side, side, spacing, stiffness, drag, dt, x.data(), v.data()}; }

  // Sets the gradients of results to the cotangents, those of x and v to zero; likewise the peer's.
  void prepare_adjoint();
};

}  // namespace samite::bench
