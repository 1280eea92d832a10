// For tests of adjoints: a kernel's adjoint as text, and gradients compared with finite differences.
#pragma once

#include "samite/autodiff/adjoint.h"
#include "samite/ir/print.h"
#include "samite/ir/verify.h"
#include "samite/jit/pipeline.h"
#include "samite/lang/capture.h"
#include "samite/samite.h"
#include "tests/base/count.h"
#include "tests/runtime/test_device.h"

#include <cmath>
#include <functional>
#include <optional>
#include <random>
#include <vector>

namespace samite::test {

// The adjoint of a captured function with respect to the parameters in `active`, verified.
template <class... Ps, class F>
autodiff::Adjoint adjoint_of(const std::vector<std::string> &names, const F &function, std::vector<bool> active,
                             bool may_alias = false, std::optional<std::int64_t> memory_limit = {}) {
  ir::Kernel structured = jit::structure(lang::capture<Ps...>("kernel", names, function, SourceLocation("test", 1)));
  autodiff::Adjoint adjoint = autodiff::derive_adjoint(structured, active, may_alias, memory_limit);
  ir::verify(adjoint.kernel, ir::Form::structured, "differentiate");
  return adjoint;
}

inline std::vector<double> random_values(std::size_t n, double low, double high, unsigned seed) {
  std::mt19937 generator(seed);
  std::uniform_real_distribution<double> distribution(low, high);
  std::vector<double> values(n);
  for (double &value : values) value = distribution(generator);
  return values;
}

// For kernels (Array<double, 1> out, Array<const double, 1> in): the largest difference between the gradient of
// sum_i w_i out_i with respect to `in` and its central differences, relative to 1 + |gradient|. `instances` run.
template <class K>
double gradient_error(const K &kernel, std::int64_t instances, const std::vector<double> &input, std::size_t outputs,
                      double step = 1e-6) {
  Device device = test::device();
  auto size = static_cast<std::int64_t>(input.size());
  Buffer<double> in(device, {size}, input, Gradient::tracked);
  Buffer<double> out(device, {static_cast<std::int64_t>(outputs)}, Gradient::tracked);
  std::vector<double> weights = random_values(outputs, -1, 1, 99);

  auto objective = [&](const std::vector<double> &values) {
    in.copy_from(values);
    out.fill(0);
    kernel.launch({instances}, out, in);
    std::vector<double> result = out.to_vector();
    double sum = 0;
    for (std::size_t i = 0; i < outputs; ++i) sum += weights[i] * result[i];
    return sum;
  };

  objective(input);
  out.gradient().copy_from(weights);
  kernel.launch({instances}, {.direction = Direction::adjoint}, out, in);
  std::vector<double> gradient = in.gradient().to_vector();

  double worst = 0;
  for (std::size_t i = 0; i < input.size(); ++i) {
    std::vector<double> above = input, below = input;
    above[i] += step, below[i] -= step;
    double difference = (objective(above) - objective(below)) / (2 * step);
    worst = std::fmax(worst, std::fabs(gradient[i] - difference) / (1 + std::fabs(difference)));
    if (std::isnan(gradient[i])) return NAN;
  }
  return worst;
}

}  // namespace samite::test
