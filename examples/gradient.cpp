// A kernel and its adjoint, both recorded: y = sin(x) exp(-x²), and dy/dx checked against the formula.
#include <samite/samite.h>

#include <algorithm>
#include <cmath>
#include <cstdio>

using namespace samite;

// A plain C++ function of traced values is part of the kernel that calls it.
Double wave(Double x) { return sin(x) * exp(-x * x); }

int main() {
  Kernel sample{"sample", {"y", "x"}, [](Array<double, 1> y, Array<const double, 1> x) {
                  Int i = thread_index();
                  y(i) = wave(x(i));
                }};

  const int n = 1000;
  std::vector<double> points(n);
  for (int i = 0; i < n; ++i) points[i] = -3 + 6.0 * i / (n - 1);
  Buffer<double> x{Device::preferred(), {n}, points, Gradient::tracked};
  Buffer<double> y{Device::preferred(), {n}, Gradient::tracked};

  auto [forward, adjoint] = sample.record_with_adjoint({n}, y, x);

  forward.launch();
  y.gradient().fill(1);  // of the sum of all y
  adjoint.launch();      // adds d(sum) / dx to the gradient of x

  double largest = 0;
  for (int i = 0; i < n; ++i) {
    double p = points[i], exact = (std::cos(p) - 2 * p * std::sin(p)) * std::exp(-p * p);
    largest = std::max(largest, std::abs(x.gradient().at(i) - exact));
  }
  std::printf("dy/dx at %.3f: %.15f; largest error of %d gradients: %.1e\n", points[600], x.gradient().at(600), n,
              largest);
  return largest < 1e-14 ? 0 : 1;
}
