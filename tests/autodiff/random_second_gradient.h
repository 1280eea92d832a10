// Second derivatives of the random kernels of random_gradient.h, three ways: forward over reverse (the tangent of the
// adjoint kernel), reverse over reverse (its adjoint), and reverse over forward (hessian_vector_product).
#pragma once

#include "tests/autodiff/random_gradient.h"
#include "tests/runtime/test_device.h"

namespace samite::test {

struct SecondGradientOutcome {
  bool right = true;
  std::string report, refusal;
};

// uᵀ H v with the Hessian H of a random combination of everything that the kernel writes.
inline SecondGradientOutcome check_random_second_gradient(unsigned seed) {
  const Device device = test::device();
  const Kernel kernel{"random", {"out", "in", "work", "total", "rows"}, RandomProgram(seed)};
  const Kernel weigh{"weigh", [](Array<double, 1> sum, Array<const double, 1> a, Array<const double, 1> w) {
                       Int i = thread_index();
                       atomic_add(sum(0), a(i) * w(i));
                     }};
  constexpr std::int64_t n = RandomProgram::instances, m = RandomProgram::inputs, t = RandomProgram::totals,
                         r = RandomProgram::row;
  std::mt19937 random(seed + 1);
  auto fill = [&](std::int64_t count) {
    std::uniform_real_distribution<double> distribution(-1, 1);
    std::vector<double> values(static_cast<std::size_t>(count));
    for (double &value : values) value = distribution(random);
    return values;
  };
  // By array: out, in, work, total, rows. The inputs, the weights of the objective, and two directions.
  const std::vector<Extents> extents{{n}, {m}, {n}, {t}, {n, r}};
  std::vector<std::vector<double>> at, weight, u, v;
  for (const Extents &extent : extents) {
    at.push_back(fill(extent.count())), weight.push_back(fill(extent.count()));
    u.push_back(fill(extent.count())), v.push_back(fill(extent.count()));
  }
  constexpr std::size_t out = 0, in = 1, total = 3;
  for (std::size_t i : {out, total}) at[i].assign(at[i].size(), 0), u[i] = v[i] = at[i];
  weight[in].assign(weight[in].size(), 0);

  auto make = [&](const std::vector<std::vector<double>> &values) {
    std::vector<Buffer<double>> arrays;
    for (std::size_t i = 0; i < extents.size(); ++i)
      arrays.emplace_back(device, extents[i], values[i], Gradient::tracked);
    return arrays;
  };
  auto dot = [](const std::vector<std::vector<double>> &a, const std::vector<Buffer<double>> &b) {
    double sum = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
      const std::vector<double> values = b[i].gradient().to_vector();
      for (std::size_t k = 0; k < values.size(); ++k) sum += a[i][k] * values[k];
    }
    return sum;
  };

  SecondGradientOutcome outcome;
  try {
    const auto adjoint = kernel.adjoint();
    auto launch = [&](const LaunchOptions &options, std::vector<Buffer<double>> &a, std::vector<Buffer<double>> &bar) {
      adjoint.launch({n}, options, a[0], a[1], a[2], a[3], a[4], bar[0], bar[1], bar[2], bar[3], bar[4]);
    };
    auto a = make(at), bar = make(weight);
    for (std::size_t i = 0; i < a.size(); ++i) a[i].gradient().copy_from(v[i]);
    launch({.direction = Direction::tangent}, a, bar);
    const double forward_over_reverse = dot(u, bar);

    auto b = make(at), back = make(weight);
    Tape tape;
    tape.record([&] { launch({}, b, back); });
    tape.zero_gradients();
    std::vector<Tape::Cotangent> seeds;
    for (std::size_t i = 0; i < back.size(); ++i) seeds.push_back({back[i], Buffer<double>(device, extents[i], u[i])});
    tape.backward(seeds);
    const double reverse_over_reverse = dot(v, b);

    auto x = make(at);
    Buffer<double> sum(device, {1}, Gradient::tracked);
    std::vector<Buffer<double>> weights;
    for (std::size_t i = 0; i < x.size(); ++i) weights.emplace_back(device, Extents{x[i].count()}, weight[i]);
    auto work = [&] {
      sum.fill(0);
      kernel.launch({n}, x[0], x[1], x[2], x[3], x[4]);
      for (std::size_t i = 0; i < x.size(); ++i)
        weigh.launch({x[i].count()}, sum, x[i].reshape({x[i].count()}), weights[i]);
    };
    HessianVectorProduct product = hessian_vector_product(work, x, v, sum);
    double reverse_over_forward = 0;
    for (std::size_t i = 0; i < u.size(); ++i)
      for (std::size_t k = 0; k < u[i].size(); ++k) reverse_over_forward += u[i][k] * product.product[i][k];

    const double scale = 1 + std::fabs(reverse_over_forward);
    outcome.right = std::fabs(forward_over_reverse - reverse_over_forward) <= 1e-8 * scale &&
                    std::fabs(reverse_over_reverse - reverse_over_forward) <= 1e-8 * scale;
    if (!outcome.right)
      outcome.report = "seed " + std::to_string(seed) + ": forward over reverse " +
                       std::to_string(forward_over_reverse) + ", reverse over reverse " +
                       std::to_string(reverse_over_reverse) + ", reverse over forward " +
                       std::to_string(reverse_over_forward);
  } catch (const UserError &error) {
    outcome.refusal = error.what();
  }
  return outcome;
}

}  // namespace samite::test
