// For tests of the algebra: one generic function, run in a kernel and on the host, compared with an independent
// reference, and its gradient compared with central differences.
#pragma once

#include "samite/ir/visit.h"
#include "samite/jit/gradient_check.h"
#include "samite/lang/algebra.h"
#include "samite/samite.h"
#include "tests/runtime/test_device.h"

#include <gtest/gtest.h>

#include <random>
#include <vector>

namespace samite::test {

using Numbers = std::vector<double>;

template <int N>
using Vec = Vector<double, N>;
template <int R, int C>
using Mat = Matrix<double, R, C>;
using Quat = Quaternion<double>;
using Rigid = Transform<double>;

// The scalars of a value, in the order in which arrays hold them.
template <class V, class F>
void each_scalar(V &value, const F &function) {
  if constexpr (requires { value.begin(); }) {
    for (auto &component : value) function(component);
  } else if constexpr (requires { value.translation; }) {
    each_scalar(value.translation, function);
    each_scalar(value.rotation, function);
  } else {
    function(value);
  }
}

// The type of a kernel for one of the host: Vector<Double, 3> for Vector<double, 3>.
template <class V>
struct InKernel;
template <>
struct InKernel<double> {
  using type = Double;
};
template <int N>
struct InKernel<Vector<double, N>> {
  using type = Vector<Double, N>;
};
template <int R, int C>
struct InKernel<Matrix<double, R, C>> {
  using type = Matrix<Double, R, C>;
};
template <>
struct InKernel<Quat> {
  using type = Quaternion<Double>;
};
template <>
struct InKernel<Rigid> {
  using type = Transform<Double>;
};

template <class V>
int width_of() {
  if constexpr (std::same_as<V, double>) {
    return 1;
  } else {
    V value;
    int width = 0;
    each_scalar(value, [&](const double &) { ++width; });
    return width;
  }
}

struct Check {
  double low = -1, high = 1;  // of the random inputs
  double tolerance = 1e-12;   // of values: |computed - reference| / max(1, |reference|)
  double gradient_tolerance = 1e-6;
  bool gradients = true;
  int instances = 16;
  unsigned seed = 1;
};

inline void expect_near(const Numbers &computed, const Numbers &reference, double tolerance, const char *what) {
  ASSERT_EQ(computed.size(), reference.size()) << what;
  for (std::size_t i = 0; i < computed.size(); ++i)
    EXPECT_NEAR(computed[i], reference[i], tolerance * std::max(1.0, std::abs(reference[i])))
        << what << ", number " << i;
}

// A kernel's operations, also in loops: all except loads and the index of the instance.
inline std::size_t operations_in(const ir::Kernel &kernel) {
  std::size_t operations = 0;
  ir::for_each_statement(kernel.body, [&](const ir::Stmt &stmt) {
    const auto *let = stmt.as<ir::Let>();
    if (let && let->value.op != ir::Op::Load && let->value.op != ir::Op::ThreadIndex) ++operations;
  });
  return operations;
}

// `function` takes values of the types As, or of their like in a kernel, and returns a scalar, vector, matrix,
// quaternion or transform. `reference` gives the same numbers from the numbers of all arguments. Returns the number of
// operations in the kernel.
template <class... As, class F, class R>
std::size_t check_function(const F &function, const R &reference, const Check &options = {}) {
  int width = (width_of<As>() + ...);
  std::mt19937 generator(options.seed);
  std::uniform_real_distribution<double> distribution(options.low, options.high);
  Numbers input(static_cast<std::size_t>(width * options.instances));
  for (double &number : input) number = distribution(generator);

  auto arguments = [&]<class... Vs>(std::tuple<Vs...> *, const auto &at) {
    int next = 0;
    auto make = [&]<class V>(V *) {
      if constexpr (std::same_as<V, double> || std::same_as<V, Double>) {
        return V(at(next++));
      } else {
        V value;
        each_scalar(value, [&](auto &scalar) { scalar = at(next++); });
        return value;
      }
    };
    return std::tuple<Vs...>{make(static_cast<Vs *>(nullptr))...};
  };

  Numbers on_host, expected;
  for (int instance = 0; instance < options.instances; ++instance) {
    const double *numbers = input.data() + instance * width;
    auto values = arguments(static_cast<std::tuple<As...> *>(nullptr), [&](int k) { return numbers[k]; });
    auto result = std::apply(function, values);
    each_scalar(result, [&](double number) { on_host.push_back(number); });
    for (double number : reference(Numbers(numbers, numbers + width))) expected.push_back(number);
  }
  expect_near(on_host, expected, options.tolerance, "on the host");

  std::int64_t results = static_cast<std::int64_t>(expected.size()) / options.instances;
  Kernel kernel{"function", [&](Array<double, 2> out, Array<const double, 2> in) {
                  Int i = thread_index();
                  auto values = arguments(static_cast<std::tuple<typename InKernel<As>::type...> *>(nullptr),
                                          [&](int k) { return Double(in(i, k)); });
                  auto result = std::apply(function, values);
                  int next = 0;
                  each_scalar(result, [&](const Double &number) { out(i, next++) = number; });
                }};
  Device device = test::device();
  Buffer<double> in{device, {options.instances, width}, input, Gradient::tracked};
  Buffer<double> out{device, {options.instances, results}, Gradient::tracked};
  kernel.launch({options.instances}, out, in);
  expect_near(out.to_vector(), expected, options.tolerance, "in a kernel");

  if (options.gradients) {
    GradientReport report = gradcheck([&] { kernel.launch({options.instances}, out, in); }, {in}, {out},
                                      {.tolerance = options.gradient_tolerance});
    EXPECT_TRUE(report.passed) << report;
  }
  return operations_in(kernel.ir());
}

}  // namespace samite::test
