// Newton's method with a sparse Jacobian: a membrane between fixed edges, whose springs stiffen as they bend.
#include "samite/samite.h"
#include "samite/solve.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <stdexcept>

using namespace samite;
using namespace samite::solvers;

int main() {
  const Device device = Device::cpu();
  constexpr int side = 40, points = side * side;
  const Kernel balance{"balance", {"forces", "heights"}, [](Array<double, 2> forces, Array<const double, 2> heights) {
                         const auto [y, x] = thread_index<2>();
                         const auto height = [&](const Int &y, const Int &x) {
                           const Bool inside = y >= 0 && y < side && x >= 0 && x < side;
                           return select(inside, heights(clamp(y, 0, side - 1), clamp(x, 0, side - 1)), 0.0);
                         };
                         const Double here = heights(y, x);
                         const Double bend =
                             4.0 * here - height(y - 1, x) - height(y + 1, x) - height(y, x - 1) - height(y, x + 1);
                         forces(y, x) = bend + 0.5 * here * here * here - 0.05;
                       }};
  const Kernel subtract{"subtract", {"y", "x"}, [](Array<double, 1> y, Array<const double, 1> x) {
                          const Int i = thread_index();
                          y(i) -= x(i);
                        }};

  Buffer<double> heights{device, {side, side}}, forces{device, {side, side}}, change{device, {points}};
  SparseJacobian jacobian = sparse_jacobian<1, 0>(balance, {side, side}, forces, heights);
  DirectSolver solver(jacobian.matrix());
  std::printf("%d x %d, %lld entries by %d tangents\n", points, points,
              static_cast<long long>(jacobian.matrix().entries()), jacobian.colours());
  double largest = 1;
  int steps = 0;
  for (; largest > 1e-12 && steps < 30; ++steps) {
    solver.factor(jacobian.compute());
    balance.launch({side, side}, forces, heights);
    solver.solve(forces.reshape({points}), change);
    subtract.launch({points}, heights.reshape({points}), change);
    balance.launch({side, side}, forces, heights);
    largest = 0;
    for (const double force : forces.to_vector()) largest = std::max(largest, std::abs(force));
  }
  std::printf("%.4f at the middle after %d steps, forces of at most %.1e\n", heights.at(side / 2, side / 2), steps,
              largest);
  if (!(largest <= 1e-12) || jacobian.colours() > 8) throw std::runtime_error("newton: no balance was found");
}
