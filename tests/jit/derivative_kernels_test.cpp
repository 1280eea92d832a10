// Kernels that are the derivatives of others: launched, differentiated again, and refused if they cannot be.
#include "samite/samite.h"
#include "tests/jit/on_device.h"
#include "tests/runtime/message_of.h"

#include <random>

namespace samite::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

using on_device::device;

const Kernel scaled_cubes{"cubes", {"y", "x", "a"}, [](Array<double, 1> y, Array<const double, 1> x, Double a) {
                            Int i = thread_index();
                            y(i) = a * x(i) * x(i) * x(i);
                          }};

TEST(AdjointKernel, TakesGradientsAsArrays) {
  auto adjoint = scaled_cubes.adjoint();
  EXPECT_EQ(adjoint.name(), "cubes_adjoint");
  Buffer<double> x(device, {2}, {2, 3}), y(device, {2}), y_bar(device, {2}, {1, 10}), x_bar(device, {2}, {100, 100});
  adjoint.launch({2}, y, x, 0.5, y_bar, x_bar);
  EXPECT_THAT(x_bar.to_vector(), ElementsAre(106, 235)) << "added to what was there";
  EXPECT_THAT(y_bar.to_vector(), ElementsAre(0, 0)) << "taken, since y was overwritten";
}

TEST(AdjointKernel, IsWithRespectToWhatIsAskedFor) {
  Kernel product{
      "product", {"y", "x", "w"}, [](Array<double, 1> y, Array<const double, 1> x, Array<const double, 1> w) {
        Int i = thread_index();
        y(i) = x(i) * w(i);
      }};
  auto adjoint = product.adjoint<0, 2>();
  Buffer<double> x(device, {1}, {2}), w(device, {1}, {3}), y(device, {1}), y_bar(device, {1}, {1}), w_bar(device, {1});
  adjoint.launch({1}, y, x, w, y_bar, w_bar);
  EXPECT_EQ(w_bar.at(0), 2);
}

TEST(AdjointKernel, HasATangentOfItsOwn) {
  auto adjoint = scaled_cubes.adjoint();
  Buffer<double> x(device, {2}, {2, 3}, Gradient::tracked), y(device, {2}),
      y_bar(device, {2}, {1, 10}, Gradient::tracked), x_bar(device, {2}, Gradient::tracked);
  x.gradient().copy_from({1, 100});
  adjoint.launch({2}, {.direction = Direction::tangent}, y, x, 0.5, y_bar, x_bar);
  EXPECT_THAT(x_bar.to_vector(), ElementsAre(6, 135));
  EXPECT_THAT(x_bar.gradient().to_vector(), ElementsAre(6, 9000)) << "3 x y_bar dx";
}

TEST(AdjointKernel, TangentOfIsAKernelToo) {
  auto second = scaled_cubes.adjoint().tangent<1, 3, 4>();  // of x, y_bar and x_bar
  Buffer<double> x(device, {1}, {2}), y(device, {1}), y_bar(device, {1}, {1}), x_bar(device, {1}), dx(device, {1}, {1}),
      dy_bar(device, {1}), dx_bar(device, {1});
  second.launch({1}, y, x, 0.5, y_bar, x_bar, dx, dy_bar, dx_bar);
  EXPECT_EQ(dx_bar.at(0), 6);
}

TEST(AdjointKernel, GoesOnATape) {
  Kernel total{"total", [](Array<double, 1> sum, Array<const double, 1> x) { atomic_add(sum(0), x(thread_index())); }};
  auto tangent = scaled_cubes.tangent();
  Buffer<double> x(device, {2}, {2, 3}, Gradient::tracked), y(device, {2}, Gradient::tracked),
      dx(device, {2}, {1, 1}, Gradient::tracked), dy(device, {2}, Gradient::tracked),
      sum(device, {1}, Gradient::tracked);
  Tape tape;
  tape.record([&] {
    tangent.launch({2}, y, x, 1.0, dy, dx);
    total.launch({2}, sum, dy);
  });
  tape.backward(sum);
  EXPECT_THAT(x.gradient().to_vector(), ElementsAre(12, 18)) << "d (3 x²) = 6 x";
}

// Loops that store values, atomics, a while_ and a branch: the parts of adjoint kernels.
TEST(AdjointKernel, ItsTangentAgreesWithDifferences) {
  Kernel kernel{"mixed", {"out", "in"}, [](Array<double, 1> out, Array<const double, 1> in) {
                  Int i = thread_index();
                  Double x = in(i), product = 1, root = x * x + 1;
                  for (Int j : range(in.extent(0))) {
                    product *= 1 + 0.1 * in(j)*x;
                    if_(in(j) > 0, [&] { product += sin(in(j)); });
                  }
                  while_([&] { return abs(root * root - x * x - 1) > 1e-9; },
                         [&] { root = 0.5 * (root + (x * x + 1) / root); });
                  out(i) = product * root;
                  atomic_add(out(i), x * in(0));
                }};
  constexpr std::int64_t n = 6;
  std::mt19937 generator(5);
  std::uniform_real_distribution<double> distribution(-1, 1);
  auto random = [&] {
    std::vector<double> values(n);
    for (double &value : values) value = distribution(generator);
    return values;
  };
  const std::vector<double> at = random(), direction = random(), weights = random();
  auto adjoint = kernel.adjoint();
  auto gradient_at = [&](double shift) {
    std::vector<double> moved = at;
    for (std::size_t i = 0; i < moved.size(); ++i) moved[i] += shift * direction[i];
    Buffer<double> in(device, {n}, moved), out(device, {n}), out_bar(device, {n}, weights), in_bar(device, {n});
    adjoint.launch({n}, out, in, out_bar, in_bar);
    return in_bar.to_vector();
  };
  Buffer<double> in(device, {n}, at, Gradient::tracked), out(device, {n}),
      out_bar(device, {n}, weights, Gradient::tracked), in_bar(device, {n}, Gradient::tracked);
  in.gradient().copy_from(direction);
  adjoint.launch({n}, {.direction = Direction::tangent}, out, in, out_bar, in_bar);

  std::vector<double> above = gradient_at(1e-5), below = gradient_at(-1e-5), exact = in_bar.gradient().to_vector();
  for (std::size_t i = 0; i < exact.size(); ++i)
    EXPECT_NEAR(exact[i], (above[i] - below[i]) / 2e-5, 1e-7 * (1 + std::fabs(exact[i]))) << i;
  // Reverse over forward is another way to the same numbers.
  Buffer<double> x(device, {n}, at, Gradient::tracked), y(device, {n}, Gradient::tracked),
      sum(device, {1}, Gradient::tracked), w(device, {n}, weights);
  Kernel weighted{"weighted", [](Array<double, 1> s, Array<const double, 1> a, Array<const double, 1> b) {
                    atomic_add(s(0), a(thread_index()) * b(thread_index()));
                  }};
  auto work = [&] {
    sum.fill(0);
    kernel.launch({n}, y, x);
    weighted.launch({n}, sum, y, w);
  };
  auto h = hessian_vector_product(work, {x}, {direction}, sum);
  for (std::size_t i = 0; i < exact.size(); ++i)
    EXPECT_NEAR(exact[i], h.product[0][i], 1e-12 * (1 + std::fabs(exact[i])));
}

// Reverse over reverse: the gradient of <v, x̄> for the gradient x̄ that an adjoint kernel has computed on a tape.
TEST(AdjointKernel, HasAnAdjointOfItsOwn) {
  Kernel kernel{"mixed", {"out", "in"}, [](Array<double, 1> out, Array<const double, 1> in) {
                  Int i = thread_index();
                  Double x = in(i), product = 1;
                  LocalArray<double, 3> powers;
                  for (Int j : range(3)) {
                    product *= 1 + 0.1 * x;
                    powers(j) = product * x;
                    if_(x > 0, [&] { product += sin(x); });
                  }
                  out(i) = powers(1) * powers(2) + product;
                  atomic_add(out(i), x * in(0));
                }};
  constexpr std::int64_t n = 5;
  const std::vector<double> at{0.3, -0.7, 0.9, -0.2, 1.1}, weights{1, -2, 3, 0.5, -1}, v{0.2, 1, -1, 2, 0.7};
  Kernel weighted{"weighted", [](Array<double, 1> sum, Array<const double, 1> a, Array<const double, 1> b) {
                    atomic_add(sum(0), a(thread_index()) * b(thread_index()));
                  }};
  auto adjoint = kernel.adjoint();
  Buffer<double> in(device, {n}, at, Gradient::tracked), out(device, {n}, Gradient::tracked),
      out_bar(device, {n}, weights, Gradient::tracked), in_bar(device, {n}, Gradient::tracked), along(device, {n}, v),
      sum(device, {1}, Gradient::tracked);
  Tape tape;
  tape.record([&] {
    adjoint.launch({n}, out, in, out_bar, in_bar);
    weighted.launch({n}, sum, in_bar, along);
  });
  tape.backward(sum);

  Buffer<double> x(device, {n}, at, Gradient::tracked), y(device, {n}, Gradient::tracked),
      total(device, {1}, Gradient::tracked), w(device, {n}, weights);
  auto work = [&] {
    total.fill(0);
    kernel.launch({n}, y, x);
    weighted.launch({n}, total, y, w);
  };
  auto h = hessian_vector_product(work, {x}, {v}, total);
  for (std::int64_t i = 0; i < n; ++i)
    EXPECT_NEAR(in.gradient().at(i), h.product[0][static_cast<std::size_t>(i)], 1e-12) << i;
  // d <v, Jᵀ w> / dw = J v
  Buffer<double> tangent_in(device, {n}, at, Gradient::tracked), tangent_out(device, {n}, Gradient::tracked);
  tangent_in.gradient().copy_from(v);
  kernel.launch({n}, {.direction = Direction::tangent}, tangent_out, tangent_in);
  for (std::int64_t i = 0; i < n; ++i) EXPECT_NEAR(out_bar.gradient().at(i), tangent_out.gradient().at(i), 1e-12) << i;
}

TEST(AdjointKernel, ThatTakesAGradientIsDifferentiatedThroughWhatItTook) {
  auto adjoint = scaled_cubes.adjoint();
  Buffer<double> x(device, {1}, {2}, Gradient::tracked), y(device, {1}, Gradient::tracked),
      y_bar(device, {1}, {5}, Gradient::tracked), x_bar(device, {1}, Gradient::tracked);
  Tape tape;
  tape.record([&] { adjoint.launch({1}, y, x, 1.0, y_bar, x_bar); });
  y_bar.gradient().fill(1000);  // it leaves zero, and nothing depends on it
  tape.backward({{x_bar, Buffer<double>(device, {1}, {1})}});
  EXPECT_EQ(x.gradient().at(0), 60) << "6 x y_bar";
  EXPECT_EQ(y_bar.gradient().at(0), 12) << "3 x²";
}

TEST(TangentKernel, HasAnAdjointOfItsOwn) {
  auto mixed = scaled_cubes.tangent().adjoint<0, 1, 3, 4>();
  Buffer<double> x(device, {1}, {2}), y(device, {1}), dy(device, {1}), dx(device, {1}, {1}), y_bar(device, {1}),
      x_bar(device, {1}), dy_bar(device, {1}, {1}), dx_bar(device, {1});
  mixed.launch({1}, y, x, 1.0, dy, dx, y_bar, x_bar, dy_bar, dx_bar);
  EXPECT_EQ(x_bar.at(0), 12) << "d (3 x² dx) / dx = 6 x dx";
  EXPECT_EQ(dx_bar.at(0), 12) << "3 x²";
}

TEST(AdjointKernelRefuses, GradientsThatShareMemory) {
  auto adjoint = scaled_cubes.adjoint();
  Buffer<double> x(device, {2}), y(device, {2}), bar(device, {2});
  EXPECT_THAT(message_of<UserError>([&] { adjoint.launch({2}, y, x, 1.0, bar, bar); }),
              testing::AllOf(HasSubstr("argument 3 ('y_gradient')"), HasSubstr("argument 4 ('x_gradient')"),
                             HasSubstr("shares no memory")));
}

TEST(Distinct, RefusesArgumentsThatShareMemory) {
  Kernel shift{"shift", {"next", "now"}, [](Distinct<float, 1> next, Array<const float, 1> now) {
                 Int i = thread_index();
                 next(i) = now((i + 1) % now.extent(0));
               }};
  Buffer<float> a(device, {4}, {1, 2, 3, 4}), b(device, {4});
  shift.launch({4}, b, a);
  EXPECT_THAT(b.to_vector(), ElementsAre(2, 3, 4, 1));
  shift.launch({2}, b.slice(0, 0, 2), b.slice(0, 2, 4));
  EXPECT_THAT(message_of<UserError>([&] { shift.launch({4}, a, a); }),
              testing::AllOf(HasSubstr("kernel 'shift'"), HasSubstr("argument 0 ('next')"),
                             HasSubstr("argument 1 ('now')"), HasSubstr("shares no memory"), HasSubstr("clone()")));
  EXPECT_THAT(message_of<UserError>([&] { shift.record({3}, a.slice(0, 0, 3), a.slice(0, 1, 4)); }),
              HasSubstr("shares no memory"));
}

}  // namespace
}  // namespace samite::test
