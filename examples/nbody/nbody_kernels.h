// The kernels of bodies that attract one another, for float (in the run) and for double (to check the gradient).
//
// Each body feels the gravity of all others, softened so that close ones do not fling each other away; the time steps
// use the symplectic Euler scheme:
//
//   a_i = Σ_j m_j (x_j - x_i) / (|x_j - x_i|² + ε²)^(3/2),  v' = v + Δt a,  x' = x + Δt v'
//
// in units where the gravitational constant is 1.
// Sources: S. J. Aarseth, Gravitational N-Body Simulations, 2003, section 1.2 (softening); E. Hairer, C. Lubich,
// G. Wanner, Geometric Numerical Integration, 2nd ed. 2006, section I.1.2 (the scheme).
//
// Positions and velocities are arrays (3, bodies): all x, then all y, then all z.
#pragma once

#include <samite/samite.h>

namespace nbody {

using namespace samite;

template <class T>
using Point = Vector<Traced<T>, 3>;

template <class T>
Point<T> at(const Array<const T, 2> &field, const Int &i) {
  return {field(0, i), field(1, i), field(2, i)};
}

template <class T>
auto gravity_step() {
  return Kernel{"gravity_step",
                {"next_x", "next_v", "x", "v", "mass", "softening", "dt"},
                [](Array<T, 2> next_x, Array<T, 2> next_v, Array<const T, 2> x, Array<const T, 2> v,
                   Array<const T, 1> mass, Traced<T> softening, Traced<T> dt) {
                  Int i = thread_index();
                  Point<T> here = at(x, i), acceleration;
                  for (Int j : range(mass.extent(0))) {
                    Point<T> apart = at(x, j) - here;
                    Traced<T> inverse = rsqrt(dot(apart, apart) + softening * softening);
                    acceleration += mass(j) * inverse * inverse * inverse * apart;
                  }
                  Point<T> velocity = at(v, i) + dt * acceleration, there = here + dt * velocity;
                  for (int c = 0; c < 3; ++c) {
                    next_v(c, i) = velocity[c];
                    next_x(c, i) = there[c];
                  }
                }};
}

// total(0) += sum of squared distances from the places where the bodies were seen.
template <class T>
auto mismatch() {
  return Kernel{
      "mismatch", {"total", "x", "seen"}, [](Array<double, 1> total, Array<const T, 2> x, Array<const T, 2> seen) {
        Int i = thread_index();
        Point<T> apart = at(x, i) - at(seen, i);
        atomic_add(total(0), dot(apart, apart));
      }};
}

}  // namespace nbody
