// Gradients checked, taken twice and hand-written: the code of docs/gradients.md.
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

// The gradient through a contact is clipped, so that one hard hit does not drown the rest.
const auto clipped = custom_adjoint([](Double x) { return x; },
                                    [](Double, Double, Double cotangent) { return clamp(cotangent, -1, 1); });

void derivatives_by_hand() {
  Kernel contact{"contact", {"force", "depth"}, [](Array<double, 1> force, Array<const double, 1> depth) {
                   Int i = thread_index();
                   Double d = clipped(depth(i));
                   force(i) = 100 * d * d;
                 }};
  Buffer<double> depth{device, {2}, {0.001, 1}, Gradient::tracked}, force{device, {2}, Gradient::tracked};
  contact.launch({2}, force, depth);
  force.gradient().fill(1);
  contact.launch({2}, {.direction = Direction::adjoint}, force, depth);
  expect(near(depth.gradient().at(0), 0.2) && depth.gradient().at(1) == 1, "a clipped gradient");
}

void replays() {
  Kernel numbered{"numbered", [](Array<double, 1> y, Array<const double, 1> x, Array<int, 1> places,
                                 Array<int, 1> count, Array<const double, 1> scale) {
                    Int i = thread_index();
                    auto number = custom_adjoint(
                        [&](Double weight) {
                          Int place = atomic_add(count(0), 1);
                          places(i) = place;
                          return weight * scale(place);
                        },
                        [&](Double, Double, Double cotangent) { return cotangent * scale(places(i)); },
                        [&](Double weight) { return weight * scale(places(i)); });
                    y(i) = number(x(i));
                  }};
  Buffer<double> x{device, {2}, {1, 2}, Gradient::tracked}, y{device, {2}, Gradient::tracked};
  Buffer<double> scale{device, {2}, {10, 20}};
  Buffer<int> places{device, {2}}, count{device, {1}};
  Tape tape;
  tape.record([&] { numbered.launch({2}, y, x, places, count, scale); });
  tape.backward({{y, Buffer<double>{device, {2}, {1, 1}}}});
  expect(count.at(0) == 2 && x.gradient().at(0) == scale.at(places.at(0)), "a replay");
}

void adjoints_in_a_kernel() {
  Kernel slope{"slope", [](Array<double, 1> y, Array<const double, 1> x) {
                 Int i = thread_index();
                 auto f = [](Double a, Double b) { return sin(a) * b; };
                 auto [da, db] = adjoint_of(f)(x(i), 2.0, 1.0);  // for the cotangent 1
                 y(i) = da + db;
               }};
  Buffer<double> x{device, {1}, {0.5}}, y{device, {1}};
  slope.launch({1}, y, x);
  expect(near(y.at(0), 2 * std::cos(0.5) + std::sin(0.5)), "an adjoint that a kernel calls");
}

void what_is_not_finite() {
  Kernel roots{"roots", [](Array<double, 1> y, Array<const double, 1> x) {
                 Int i = thread_index();
                 y(i) = sqrt(x(i));
               }};
  Buffer<double> x{device, {3}, {4, 0, 1}, Gradient::tracked}, y{device, {3}, Gradient::tracked};
  y.gradient().fill(1);
  std::string message;
  try {
    roots.launch({3}, {.direction = Direction::adjoint, .check_finite = true}, y, x);
  } catch (const UserError &error) {
    message = error.what();
  }
  expect(message.find("is (1); the derivative of sqrt here gives inf for the cotangent 1 and the operand 0") !=
             std::string::npos,
         "the first instance that is not finite");
}

}  // namespace

int main() {
  checks();
  second_derivatives();
  derivatives_by_hand();
  replays();
  adjoints_in_a_kernel();
  what_is_not_finite();
  std::printf(failures == 0 ? "all as documented\n" : "%d differ\n", failures);
  return failures;
}
