#include "bench/support/gravity.h"

#include <random>

namespace samite::bench {

Gravity gravity() {
  return Gravity{"gravity",
                 {"ax", "ay", "az", "x", "y", "z", "mass", "softening"},
                 [](Array<float, 1> ax, Array<float, 1> ay, Array<float, 1> az, Array<const float, 1> x,
                    Array<const float, 1> y, Array<const float, 1> z, Array<const float, 1> mass, Float softening) {
                   Int i = thread_index();
                   Float xi = x(i), yi = y(i), zi = z(i);
                   Float sum_x = 0, sum_y = 0, sum_z = 0;
                   for (Int j : range(x.extent(0))) {
                     Float dx = x(j) - xi, dy = y(j) - yi, dz = z(j) - zi;
                     Float inverse = rsqrt(dx * dx + dy * dy + dz * dz + softening * softening);
                     Float strength = mass(j) * inverse * inverse * inverse;
                     sum_x += strength * dx;
                     sum_y += strength * dy;
                     sum_z += strength * dz;
                   }
                   ax(i) = sum_x;
                   ay(i) = sum_y;
                   az(i) = sum_z;
                 }};
}

Galaxy::Galaxy(int count) : count(count) {
  std::mt19937 engine(1);
  std::uniform_real_distribution<float> uniform(0.0f, 1.0f);
  for (Buffer<float> *buffer : {&x, &y, &z, &mass, &ax, &ay, &az}) {
    std::vector<float> values(static_cast<std::size_t>(count));
    for (float &value : values) value = uniform(engine);
    *buffer = Buffer<float>(Device::cpu(), {count}, values, Gradient::tracked);
  }
  for (Buffer<float> *buffer : {&peer_x, &peer_y, &peer_z, &peer_mass}) *buffer = Buffer<float>(Device::cpu(), {count});
}

Launch Galaxy::record(const Gravity &kernel, Direction direction) const {
  return kernel.record({count}, {.direction = direction}, ax, ay, az, x, y, z, mass, softening);
}

}  // namespace samite::bench
