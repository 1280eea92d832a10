#include "bench/support/sheet.h"

#include "examples/cloth/cloth_kernels.h"

#include <random>

namespace samite::bench {

Sheet::Sheet(int side) : side(side), spacing(1.0f / static_cast<float>(side - 1)) {
  const Extents extents{3, side, side};
  std::mt19937 engine(1);
  std::uniform_real_distribution<float> uniform(-0.25f, 0.25f);
  std::vector<float> flat, random;
  for (int axis = 0; axis < 3; ++axis)
    for (int row = 0; row < side; ++row)
      for (int column = 0; column < side; ++column) {
        const int along = axis == 0 ? column : axis == 1 ? row : 0;
        flat.push_back(spacing * (static_cast<float>(along) + uniform(engine)));
        random.push_back(uniform(engine));
      }
  x = Buffer<float>(Device::cpu(), extents, flat, Gradient::tracked);
  v = Buffer<float>(Device::cpu(), extents, random, Gradient::tracked);
  for (Buffer<float> *buffer : {&next_x, &next_v}) *buffer = Buffer<float>(Device::cpu(), extents, Gradient::tracked);
  for (Buffer<float> *buffer : {&peer_x, &peer_v, &peer_cotangent_x, &peer_cotangent_v})
    *buffer = Buffer<float>(Device::cpu(), extents);
  for (Buffer<float> *buffer : {&cotangent_x, &cotangent_v}) {
    for (float &value : random) value = uniform(engine);
    *buffer = Buffer<float>(Device::cpu(), extents, random);
  }
}

Launch Sheet::record(Direction direction) const {
  return cloth::cloth_step<float>().record({side, side}, {.direction = direction}, next_x, next_v, x, v, spacing,
                                           stiffness, drag, dt);
}

void Sheet::prepare_adjoint() {
  next_x.gradient().copy_from(cotangent_x);
  next_v.gradient().copy_from(cotangent_v);
  x.zero_gradient();
  v.zero_gradient();
  peer_cotangent_x.copy_from(cotangent_x);
  peer_cotangent_v.copy_from(cotangent_v);
  peer_x.fill(0);
  peer_v.fill(0);
}

}  // namespace samite::bench
