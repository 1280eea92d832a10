// Gradients checked, taken twice and written by hand: the code of docs/gradients.md.
#include <samite/samite.h>

#include <cmath>
#include <cstdio>
#include <iostream>

using namespace samite;

namespace {

int failures = 0;

void expect(bool holds, const char *what) {
  if (holds) return;
  std::printf("not as documented: %s\n", what);
  ++failures;
}

bool near(double a, double b) { return std::abs(a - b) <= 1e-9 * (1 + std::abs(b)); }

Device device = Device::preferred();

void checks() {
  Kernel spring{"spring", {"energy", "x"}, [](Array<double, 1> energy, Array<const double, 1> x) {
                  Int i = thread_index();
                  Double stretch = x(i + 1) - x(i) - 1;
                  atomic_add(energy(0), stretch * stretch * x(i));
                }};
  Buffer<double> x{device, {4}, {0.1, 1.3, 2.2, 3.9}, Gradient::tracked}, energy{device, {1}, Gradient::tracked};

  GradientReport report = gradcheck(spring, {3}, energy, x);
  if (!report.passed) std::cout << report << '\n';

  auto work = [&] {
    energy.fill(0);
    spring.launch({3}, energy, x);
  };
  report = gradcheck(work, {x}, {energy});
  expect(report.passed, "the gradient");

  Jacobian row = jacobian(work, x, energy);  // row.at(i, j) is d energy[i] / d x[j]
  HessianVectorProduct h = hessian_vector_product(work, {x}, {{1, 0, 0, 0}}, energy);
  expect(near(h.gradient[0][2], row.at(0, 2)), "the gradient beside the product");
  expect(hessian_check(work, {x}, energy).passed, "the second derivative");
}

void second_derivatives() {
  Kernel cube{"cube", {"y", "x"}, [](Array<double, 1> y, Array<const double, 1> x) {
                Int i = thread_index();
                y(i) = x(i) * x(i) * x(i);
              }};
  Buffer<double> x{device, {1}, {2}, Gradient::tracked}, y{device, {1}};
  Buffer<double> y_bar{device, {1}, {1}, Gradient::tracked}, x_bar{device, {1}, Gradient::tracked};

  auto adjoint = cube.adjoint();  // a kernel of y, x, y_bar and x_bar
  x.gradient().fill(1);
  adjoint.launch({1}, {.direction = Direction::tangent}, y, x, y_bar, x_bar);
  expect(x_bar.at(0) == 12 && x_bar.gradient().at(0) == 12, "3 x² and 6 x at 2");
}

}  // namespace

int main() {
  checks();
  second_derivatives();
  std::printf(failures == 0 ? "all as documented\n" : "%d differ\n", failures);
  return failures;
}
