#include "bench/peers/nbody.h"

#include "bench/peers/inverse_root.h"

namespace {

template <Root root>
void reduction(const Bodies &bodies, const Vectors &acceleration) {
  const int count = bodies.count;
  const float softening = bodies.softening;
  const float *x = bodies.x, *y = bodies.y, *z = bodies.z, *mass = bodies.mass;
#pragma omp parallel for schedule(static)
  for (int i = 0; i < count; ++i) {
    const float xi = x[i], yi = y[i], zi = z[i];
    float ax = 0, ay = 0, az = 0;
#pragma omp simd reduction(+ : ax, ay, az)
    for (int j = 0; j < count; ++j) {
      const float dx = x[j] - xi, dy = y[j] - yi, dz = z[j] - zi;
      const float inverse = inverse_root<root>(dx * dx + dy * dy + dz * dz + softening * softening);
      const float strength = mass[j] * inverse * inverse * inverse;
      ax += strength * dx, ay += strength * dy, az += strength * dz;
    }
    acceleration.x[i] = ax, acceleration.y[i] = ay, acceleration.z[i] = az;
  }
}

template <Root root, int width>
void blocks(const Bodies &bodies, const Vectors &acceleration) {
  const int count = bodies.count;
  const float softening = bodies.softening;
  const float *x = bodies.x, *y = bodies.y, *z = bodies.z, *mass = bodies.mass;
#pragma omp parallel for schedule(static)
  for (int begin = 0; begin < count; begin += width) {
    float xi[width], yi[width], zi[width], ax[width], ay[width], az[width];
    for (int k = 0; k < width; ++k) {
      xi[k] = x[begin + k], yi[k] = y[begin + k], zi[k] = z[begin + k];
      ax[k] = ay[k] = az[k] = 0;
    }
    for (int j = 0; j < count; ++j) {
#pragma omp simd
      for (int k = 0; k < width; ++k) {
        const float dx = x[j] - xi[k], dy = y[j] - yi[k], dz = z[j] - zi[k];
        const float inverse = inverse_root<root>(dx * dx + dy * dy + dz * dz + softening * softening);
        const float strength = mass[j] * inverse * inverse * inverse;
        ax[k] += strength * dx, ay[k] += strength * dy, az[k] += strength * dz;
      }
    }
    for (int k = 0; k < width; ++k)
      acceleration.x[begin + k] = ax[k], acceleration.y[begin + k] = ay[k], acceleration.z[begin + k] = az[k];
  }
}

}  // namespace

void peer_nbody_reduction(const Bodies &b, const Vectors &a) { reduction<Root::rounded>(b, a); }
void peer_nbody_blocks_16(const Bodies &b, const Vectors &a) { blocks<Root::rounded, 16>(b, a); }
void peer_nbody_blocks_32(const Bodies &b, const Vectors &a) { blocks<Root::rounded, 32>(b, a); }
void peer_nbody_reduction_estimated(const Bodies &b, const Vectors &a) { reduction<Root::estimated>(b, a); }
void peer_nbody_blocks_16_estimated(const Bodies &b, const Vectors &a) { blocks<Root::estimated, 16>(b, a); }
void peer_nbody_blocks_32_estimated(const Bodies &b, const Vectors &a) { blocks<Root::estimated, 32>(b, a); }
