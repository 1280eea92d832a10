// The kernels of a cloth of springs and masses, for float (in the run) and for double (to check the gradient).
//
// Particles lie on a grid and are joined to their neighbours along rows and columns, across the diagonals, and to the
// second neighbours along rows and columns, which keeps the cloth from creasing. A spring with rest length L to a
// neighbour at distance d (a vector, metres) accelerates a particle by k (1 - L / |d|) d. A time step is that of the
// symplectic Euler scheme:
//
//   v' = v + Δt (gravity - drag v + Σ k (1 - L / |d|) d),  x' = x + Δt v'
//
// Sources: X. Provot, Deformation Constraints in a Mass-Spring Model to Describe Rigid Cloth Behaviour, Graphics
// Interface 1995, section 3 (the springs); E. Hairer, C. Lubich, G. Wanner, Geometric Numerical Integration, 2nd ed.
// 2006, section I.1.2 (the scheme).
//
// Positions and velocities are arrays (3, rows, columns): all x, then all y, then all z.
#pragma once

#include <samite/samite.h>

#include <cmath>

namespace cloth {

using namespace samite;

template <class T>
using Point = Vector<Traced<T>, 3>;

template <class T>
Point<T> at(const Array<const T, 3> &field, const Int &row, const Int &column) {
  return {field(0, row, column), field(1, row, column), field(2, row, column)};
}

template <class T>
void put(const Array<T, 3> &field, const Int &row, const Int &column, const Point<T> &point) {
  for (int c = 0; c < 3; ++c) field(c, row, column) = point[c];
}

// From a particle to the other end of a spring, in rows and columns.
struct Spring {
  int down, along;
};
constexpr Spring springs[] = {{-1, 0}, {1, 0}, {0, -1}, {0, 1}, {-1, -1}, {-1, 1},
                              {1, -1}, {1, 1}, {-2, 0}, {2, 0}, {0, -2},  {0, 2}};

// `spacing` is the rest length along rows and columns in metres; `stiffness` k of a spring in 1/s², for a unit mass.
template <class T>
auto cloth_step() {
  return Kernel{"cloth_step",
                {"next_x", "next_v", "x", "v", "spacing", "stiffness", "drag", "dt"},
                [](Array<T, 3> next_x, Array<T, 3> next_v, Array<const T, 3> x, Array<const T, 3> v, Traced<T> spacing,
                   Traced<T> stiffness, Traced<T> drag, Traced<T> dt) {
                  auto [row, column] = thread_index<2>();
                  Int rows = x.extent(1), columns = x.extent(2);
                  Point<T> here = at(x, row, column), velocity = at(v, row, column);
                  Point<T> acceleration = Point<T>{0, -9.81, 0} - drag * velocity;
                  for (const Spring &spring : springs) {
                    Int r = row + spring.down, c = column + spring.along;
                    if_(r >= 0 && r < rows && c >= 0 && c < columns, [&] {
                      Point<T> apart = at(x, r, c) - here;
                      Traced<T> rest = std::hypot(spring.down, spring.along) * spacing;
                      acceleration += stiffness * (1 - rest * rsqrt(dot(apart, apart))) * apart;
                    });
                  }
                  velocity += dt * acceleration;
                  put(next_v, row, column, velocity);
                  put(next_x, row, column, here + dt * velocity);
                }};
}

// total(0) += sum of squared distances to the target, of each particle.
template <class T>
auto mismatch() {
  return Kernel{
      "mismatch", {"total", "x", "target"}, [](Array<double, 1> total, Array<const T, 3> x, Array<const T, 3> target) {
        auto [row, column] = thread_index<2>();
        Point<T> apart = at(x, row, column) - at(target, row, column);
        atomic_add(total(0), dot(apart, apart));
      }};
}

}  // namespace cloth
