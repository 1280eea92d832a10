#include "bench/peers/cloth.h"

#include "bench/peers/inverse_root.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace {

struct Spring {
  int down, along;
};
constexpr Spring springs[] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}, {-1, -1}, {-1, 1},
                              {1, -1}, {1, 1}, {-2, 0}, {2, 0}, {0, -2},  {0, 2}};

// A row of each of the three planes.
template <class T>
struct Row {
  T *x, *y, *z;
};
template <class T>
Row<T> row_of(T *field, const ClothStep &s, int row) {
  T *x = field + static_cast<long>(row) * s.columns;
  const long plane = static_cast<long>(s.rows) * s.columns;
  return {x, x + plane, x + 2 * plane};
}

template <Root root>
void step(const ClothStep &s, float *next_x, float *next_v) {
  const int columns = s.columns;
  const float stiffness = s.stiffness, drag = s.drag, dt = s.dt;
#pragma omp parallel
  {
    std::vector<float> sums(3 * static_cast<std::size_t>(columns));
    float *__restrict ax = sums.data(), *__restrict ay = ax + columns, *__restrict az = ay + columns;
#pragma omp for schedule(static)
    for (int row = 0; row < s.rows; ++row) {
      const auto x = row_of(s.x, s, row), v = row_of(s.v, s, row);
#pragma omp simd
      for (int c = 0; c < columns; ++c) {
        ax[c] = -drag * v.x[c], ay[c] = -9.81f - drag * v.y[c], az[c] = -drag * v.z[c];
      }
      for (const Spring &spring : springs) {
        if (row + spring.down < 0 || row + spring.down >= s.rows) continue;
        const auto other = row_of(s.x, s, row + spring.down);
        const float rest = s.spacing * std::hypot(float(spring.down), float(spring.along));
        const int along = spring.along, end = std::min(columns, columns - along);
#pragma omp simd
        for (int c = std::max(0, -along); c < end; ++c) {
          const float dx = other.x[c + along] - x.x[c], dy = other.y[c + along] - x.y[c],
                      dz = other.z[c + along] - x.z[c];
          const float pull = stiffness * (1 - rest * inverse_root<root>(dx * dx + dy * dy + dz * dz));
          ax[c] += pull * dx, ay[c] += pull * dy, az[c] += pull * dz;
        }
      }
      const auto to_x = row_of(next_x, s, row), to_v = row_of(next_v, s, row);
#pragma omp simd
      for (int c = 0; c < columns; ++c) {
        const float vx = v.x[c] + dt * ax[c], vy = v.y[c] + dt * ay[c], vz = v.z[c] + dt * az[c];
        to_v.x[c] = vx, to_v.y[c] = vy, to_v.z[c] = vz;
        to_x.x[c] = x.x[c] + dt * vx, to_x.y[c] = x.y[c] + dt * vy, to_x.z[c] = x.z[c] + dt * vz;
      }
    }
  }
}

template <Root root>
void adjoint(const ClothStep &s, float *next_x_gradient, float *next_v_gradient, float *x_gradient, float *v_gradient) {
  const int columns = s.columns;
  const float stiffness = s.stiffness, drag = s.drag, dt = s.dt;
  const long count = 3L * s.rows * columns;
  static std::vector<float> scratch;  // h; kept, since mapping memory would cost more than the rest
  scratch.resize(static_cast<std::size_t>(count));
  float *__restrict h = scratch.data();
#pragma omp parallel
  {
#pragma omp for simd schedule(static)
    for (long i = 0; i < count; ++i) {
      const float g = next_v_gradient[i] + dt * next_x_gradient[i];
      x_gradient[i] += next_x_gradient[i];
      v_gradient[i] += (1 - drag * dt) * g;
      h[i] = dt * g;
      next_x_gradient[i] = 0, next_v_gradient[i] = 0;
    }
    std::vector<float> sums(3 * static_cast<std::size_t>(columns));
    float *__restrict ax = sums.data(), *__restrict ay = ax + columns, *__restrict az = ay + columns;
#pragma omp for schedule(static)
    for (int row = 0; row < s.rows; ++row) {
      const auto x = row_of(s.x, s, row);
      const auto own = row_of(h, s, row), to = row_of(x_gradient, s, row);
#pragma omp simd
      for (int c = 0; c < columns; ++c) ax[c] = 0, ay[c] = 0, az[c] = 0;
      for (const Spring &spring : springs) {
        if (row + spring.down < 0 || row + spring.down >= s.rows) continue;
        const int along = spring.along, end = std::min(columns, columns - along);
        const auto other = row_of(s.x, s, row + spring.down);
        const auto others = row_of(h, s, row + spring.down);
        const float rest = s.spacing * std::hypot(float(spring.down), float(spring.along));
#pragma omp simd
        for (int c = std::max(0, -along); c < end; ++c) {
          const float dx = other.x[c + along] - x.x[c], dy = other.y[c + along] - x.y[c],
                      dz = other.z[c + along] - x.z[c];
          const float hx = others.x[c + along] - own.x[c], hy = others.y[c + along] - own.y[c],
                      hz = others.z[c + along] - own.z[c];
          const float inverse = inverse_root<root>(dx * dx + dy * dy + dz * dz), ratio = rest * inverse;
          const float along_h = stiffness * ratio * inverse * inverse * (dx * hx + dy * hy + dz * hz);
          const float across = stiffness * (1 - ratio);
          ax[c] += across * hx + along_h * dx, ay[c] += across * hy + along_h * dy;
          az[c] += across * hz + along_h * dz;
        }
      }
#pragma omp simd
      for (int c = 0; c < columns; ++c) to.x[c] += ax[c], to.y[c] += ay[c], to.z[c] += az[c];
    }
  }
}

}  // namespace

void peer_cloth(const ClothStep &s, float *x, float *v) { step<Root::rounded>(s, x, v); }
void peer_cloth_estimated(const ClothStep &s, float *x, float *v) { step<Root::estimated>(s, x, v); }
void peer_cloth_adjoint(const ClothStep &s, float *nx, float *nv, float *x, float *v) {
  adjoint<Root::rounded>(s, nx, nv, x, v);
}
void peer_cloth_adjoint_estimated(const ClothStep &s, float *nx, float *nv, float *x, float *v) {
  adjoint<Root::estimated>(s, nx, nv, x, v);
}
