// The kernels of a fluid in a closed box, for float (in the run) and for double (to check the gradient).
//
// One time step moves the velocity v along itself, makes it free of divergence, and moves the smoke s along it:
//
//   v*(x) = v(x - Δt v(x)),  Δp = ∇·v*,  v' = v* - ∇p,  s'(x) = s(x - Δt v'(x))
//
// on a grid of unit spacing with central differences; the pressure p, in units of density / Δt, is found by Jacobi
// iterations that start from the previous step's. Between cells, values are interpolated linearly in each direction.
// Values beyond a wall are those at the wall, except that the velocity of the outermost cells is zero. Source: J. Stam,
// Stable Fluids, SIGGRAPH 1999, sections 2.2 and 2.3.
#pragma once

#include <samite/samite.h>

namespace fluid {

using namespace samite;

template <class T>
Traced<T> interpolate(const Array<const T, 2> &field, const Traced<T> &y, const Traced<T> &x) {
  Int bottom = field.extent(0) - 1, right = field.extent(1) - 1;
  Traced<T> row = clamp(y, 0, cast<Traced<T>>(bottom)), column = clamp(x, 0, cast<Traced<T>>(right));
  Int i = min(cast<Int>(row), bottom - 1), j = min(cast<Int>(column), right - 1);
  Traced<T> down = row - cast<Traced<T>>(i), along = column - cast<Traced<T>>(j);
  Traced<T> above = field(i, j) + along * (field(i, j + 1) - field(i, j));
  Traced<T> below = field(i + 1, j) + along * (field(i + 1, j + 1) - field(i + 1, j));
  return above + down * (below - above);
}

// The indices of a cell's four neighbours; beyond a wall it is the cell itself.
struct Neighbours {
  Int above, below, left, right;

  template <class Field>
  Neighbours(const Field &field, const Int &y, const Int &x)
      : above(max(y - 1, 0)),
        below(min(y + 1, field.extent(0) - 1)),
        left(max(x - 1, 0)),
        right(min(x + 1, field.extent(1) - 1)) {}
};

template <class T>
auto advect_velocity() {
  return Kernel{"advect_velocity",
                {"next_y", "next_x", "v_y", "v_x", "dt"},
                [](Array<T, 2> next_y, Array<T, 2> next_x, Array<const T, 2> v_y, Array<const T, 2> v_x, Traced<T> dt) {
                  auto [i, j] = thread_index<2>();
                  Traced<T> y = cast<Traced<T>>(i) - dt * v_y(i, j), x = cast<Traced<T>>(j) - dt * v_x(i, j);
                  next_y(i, j) = interpolate(v_y, y, x);
                  next_x(i, j) = interpolate(v_x, y, x);
                }};
}

template <class T>
auto divergence() {
  return Kernel{
      "divergence", {"result", "v_y", "v_x"}, [](Array<T, 2> result, Array<const T, 2> v_y, Array<const T, 2> v_x) {
        auto [y, x] = thread_index<2>();
        Neighbours n(v_y, y, x);
        result(y, x) = (v_y(n.below, x) - v_y(n.above, x) + v_x(y, n.right) - v_x(y, n.left)) * 0.5;
      }};
}

// One Jacobi iteration for Δp = divergence.
template <class T>
auto relax_pressure() {
  return Kernel{"relax_pressure",
                {"next", "now", "divergence"},
                [](Array<T, 2> next, Array<const T, 2> now, Array<const T, 2> divergence) {
                  auto [y, x] = thread_index<2>();
                  Neighbours n(now, y, x);
                  Traced<T> sum = now(n.above, x) + now(n.below, x) + now(y, n.left) + now(y, n.right);
                  next(y, x) = (sum - divergence(y, x)) * 0.25;
                }};
}

template <class T>
auto project() {
  return Kernel{"project",
                {"next_y", "next_x", "v_y", "v_x", "pressure"},
                [](Array<T, 2> next_y, Array<T, 2> next_x, Array<const T, 2> v_y, Array<const T, 2> v_x,
                   Array<const T, 2> pressure) {
                  auto [y, x] = thread_index<2>();
                  Neighbours n(pressure, y, x);
                  Traced<T> slope_y = (pressure(n.below, x) - pressure(n.above, x)) * 0.5;
                  Traced<T> slope_x = (pressure(y, n.right) - pressure(y, n.left)) * 0.5;
                  Bool inside = interior(pressure, y, x);
                  next_y(y, x) = select(inside, v_y(y, x) - slope_y, 0);
                  next_x(y, x) = select(inside, v_x(y, x) - slope_x, 0);
                }};
}

template <class T>
auto advect_smoke() {
  return Kernel{
      "advect_smoke",
      {"next", "now", "v_y", "v_x", "dt"},
      [](Array<T, 2> next, Array<const T, 2> now, Array<const T, 2> v_y, Array<const T, 2> v_x, Traced<T> dt) {
        auto [i, j] = thread_index<2>();
        Traced<T> y = cast<Traced<T>>(i) - dt * v_y(i, j), x = cast<Traced<T>>(j) - dt * v_x(i, j);
        next(i, j) = interpolate(now, y, x);
      }};
}

// total(0) += sum of (smoke - target)², in double because it has as many terms as there are cells.
template <class T>
auto mismatch() {
  return Kernel{"mismatch",
                {"total", "smoke", "target"},
                [](Array<double, 1> total, Array<const T, 2> smoke, Array<const T, 2> target) {
                  auto [y, x] = thread_index<2>();
                  Traced<T> difference = smoke(y, x) - target(y, x);
                  atomic_add(total(0), difference * difference);
                }};
}

}  // namespace fluid
