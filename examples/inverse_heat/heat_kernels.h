// The kernels of the inverse heat problem, for float (in the run) and for double (to check the gradient).
//
// Forward model: the heat equation ∂u/∂t = κ Δu with insulated edges, by the explicit scheme that is forward in time
// and central in space, on a grid of unit spacing with r = κ Δt:
//
//   u'(y, x) = u(y, x) + r (u(y-1, x) + u(y+1, x) + u(y, x-1) + u(y, x+1) - 4 u(y, x))
//
// A neighbour beyond an edge is the edge's own pixel, so that no heat leaves. The scheme is stable for r ≤ 1/4.
// Source: K. W. Morton, D. F. Mayers, Numerical Solution of Partial Differential Equations, 2nd ed. 2005, ch. 2 and 3.
#pragma once

#include <samite/samite.h>

namespace inverse_heat {

using namespace samite;

template <class T>
Traced<T> laplacian(const Array<const T, 2> &u, const Int &y, const Int &x) {
  Int above = max(y - 1, 0), below = min(y + 1, u.extent(0) - 1);
  Int left = max(x - 1, 0), right = min(x + 1, u.extent(1) - 1);
  return u(above, x) + u(below, x) + u(y, left) + u(y, right) - 4 * u(y, x);
}

// One step of the forward model.
template <class T>
auto diffusion_step() {
  return Kernel{"diffusion_step", {"next", "now", "rate"}, [](Array<T, 2> next, Array<const T, 2> now, Traced<T> rate) {
                  auto [y, x] = thread_index<2>();
                  next(y, x) = now(y, x) + rate * laplacian(now, y, x);
                }};
}

// total(0) += sum of (u - target)², in double because it has as many terms as the image has pixels.
template <class T>
auto squared_error() {
  return Kernel{"squared_error",
                {"total", "u", "target"},
                [](Array<double, 1> total, Array<const T, 2> u, Array<const T, 2> target) {
                  auto [y, x] = thread_index<2>();
                  Traced<T> difference = u(y, x) - target(y, x);
                  atomic_add(total(0), difference * difference);
                }};
}

// One step of Nesterov's accelerated descent with projection to [0, 1], the range of grey values:
//
//   x' = clamp(z - rate ∇f(z)),  z' = x' + momentum (x' - x)
//
// Source: W. Su, S. Boyd, E. J. Candès, A Differential Equation for Modeling Nesterov's Accelerated Gradient Method,
// JMLR 17 (2016), equation (1), where the momentum of the k-th step, counted from 1, is (k - 1) / (k + 2).
// Adjoints add to gradients, so the gradient that was used is set back to zero for the next round.
inline auto descent_step() {
  return Kernel{
      "descent_step",
      {"lookahead", "estimate", "gradient", "rate", "momentum"},
      [](Array<float, 2> lookahead, Array<float, 2> estimate, Array<float, 2> gradient, Float rate, Float momentum) {
        auto [y, x] = thread_index<2>();
        Float next = clamp(lookahead(y, x) - rate * gradient(y, x), 0, 1);
        lookahead(y, x) = next + momentum * (next - estimate(y, x));
        estimate(y, x) = next;
        gradient(y, x) = 0;
      }};
}

}  // namespace inverse_heat
