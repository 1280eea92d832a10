#include "bench/peers/nbody.h"

#include "bench/peers/inverse_root.h"

namespace {

// The sum over j of h / r³ is split into m_i Σ g_j / r³ − g_i Σ m_j / r³, whose factors are applied once, at the end:
// that is fewer operations for each pair than h itself.

template <Root root>
void reduction(const Bodies &bodies, const Vectors &g, const Vectors &position, float *mass_sum) {
  const int count = bodies.count;
  const float softening = bodies.softening;
  const float *x = bodies.x, *y = bodies.y, *z = bodies.z, *mass = bodies.mass;
  const float *gx = g.x, *gy = g.y, *gz = g.z;
#pragma omp parallel for schedule(static)
  for (int i = 0; i < count; ++i) {
    const float xi = x[i], yi = y[i], zi = z[i], mi = mass[i], gxi = gx[i], gyi = gy[i], gzi = gz[i];
    float px = 0, py = 0, pz = 0, sx = 0, sy = 0, sz = 0, masses = 0, own = 0;
#pragma omp simd reduction(+ : px, py, pz, sx, sy, sz, masses, own)
    for (int j = 0; j < count; ++j) {
      const float dx = x[j] - xi, dy = y[j] - yi, dz = z[j] - zi;
      const float inverse = inverse_root<root>(dx * dx + dy * dy + dz * dz + softening * softening);
      const float inverse2 = inverse * inverse, inverse3 = inverse2 * inverse;
      const float along_j = dx * gx[j] + dy * gy[j] + dz * gz[j], along_i = dx * gxi + dy * gyi + dz * gzi;
      const float pull = 3 * inverse2 * inverse3 * (mi * along_j - mass[j] * along_i);
      px += pull * dx, py += pull * dy, pz += pull * dz;
      sx += inverse3 * gx[j], sy += inverse3 * gy[j], sz += inverse3 * gz[j];
      masses += inverse3 * mass[j];
      own += inverse3 * along_j;
    }
    position.x[i] += mi * sx - gxi * masses - px;
    position.y[i] += mi * sy - gyi * masses - py;
    position.z[i] += mi * sz - gzi * masses - pz;
    mass_sum[i] -= own;
  }
}

template <Root root, int width>
void blocks(const Bodies &bodies, const Vectors &g, const Vectors &position, float *mass_sum) {
  const int count = bodies.count;
  const float softening = bodies.softening;
  const float *x = bodies.x, *y = bodies.y, *z = bodies.z, *mass = bodies.mass;
  const float *gx = g.x, *gy = g.y, *gz = g.z;
#pragma omp parallel for schedule(static)
  for (int begin = 0; begin < count; begin += width) {
    const float *xi = x + begin, *yi = y + begin, *zi = z + begin, *mi = mass + begin;
    const float *gxi = gx + begin, *gyi = gy + begin, *gzi = gz + begin;
    float px[width] = {}, py[width] = {}, pz[width] = {}, sx[width] = {}, sy[width] = {}, sz[width] = {};
    float masses[width] = {}, own[width] = {};
    for (int j = 0; j < count; ++j) {
#pragma omp simd
      for (int k = 0; k < width; ++k) {
        const float dx = x[j] - xi[k], dy = y[j] - yi[k], dz = z[j] - zi[k];
        const float inverse = inverse_root<root>(dx * dx + dy * dy + dz * dz + softening * softening);
        const float inverse2 = inverse * inverse, inverse3 = inverse2 * inverse;
        const float along_j = dx * gx[j] + dy * gy[j] + dz * gz[j];
        const float along_i = dx * gxi[k] + dy * gyi[k] + dz * gzi[k];
        const float pull = 3 * inverse2 * inverse3 * (mi[k] * along_j - mass[j] * along_i);
        px[k] += pull * dx, py[k] += pull * dy, pz[k] += pull * dz;
        sx[k] += inverse3 * gx[j], sy[k] += inverse3 * gy[j], sz[k] += inverse3 * gz[j];
        masses[k] += inverse3 * mass[j];
        own[k] += inverse3 * along_j;
      }
    }
    for (int k = 0; k < width; ++k) {
      position.x[begin + k] += mi[k] * sx[k] - gxi[k] * masses[k] - px[k];
      position.y[begin + k] += mi[k] * sy[k] - gyi[k] * masses[k] - py[k];
      position.z[begin + k] += mi[k] * sz[k] - gzi[k] * masses[k] - pz[k];
      mass_sum[begin + k] -= own[k];
    }
  }
}

}  // namespace

void peer_nbody_adjoint_reduction(const Bodies &b, const Vectors &g, const Vectors &p, float *m) {
  reduction<Root::rounded>(b, g, p, m);
}
void peer_nbody_adjoint_blocks_16(const Bodies &b, const Vectors &g, const Vectors &p, float *m) {
  blocks<Root::rounded, 16>(b, g, p, m);
}
void peer_nbody_adjoint_blocks_32(const Bodies &b, const Vectors &g, const Vectors &p, float *m) {
  blocks<Root::rounded, 32>(b, g, p, m);
}
void peer_nbody_adjoint_reduction_estimated(const Bodies &b, const Vectors &g, const Vectors &p, float *m) {
  reduction<Root::estimated>(b, g, p, m);
}
void peer_nbody_adjoint_blocks_16_estimated(const Bodies &b, const Vectors &g, const Vectors &p, float *m) {
  blocks<Root::estimated, 16>(b, g, p, m);
}
void peer_nbody_adjoint_blocks_32_estimated(const Bodies &b, const Vectors &g, const Vectors &p, float *m) {
  blocks<Root::estimated, 32>(b, g, p, m);
}
