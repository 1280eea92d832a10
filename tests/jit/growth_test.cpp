// Deriving and emitting take time in proportion to the kernel's size.
#include "samite/codegen/emit.h"
#include "samite/jit/pipeline.h"
#include "samite/lang/capture.h"
#include "samite/passes/adjoint/exchanges_to_loads.h"
#include "samite/passes/threads/lower_threads.h"
#include "samite/passes/tiles/lower_tiles.h"

#include <gtest/gtest.h>

#include <ctime>

namespace samite::test {
namespace {

using Program = void (*)(Array<double, 1> y, Array<const double, 1> x, int steps);

// CPU time of this thread, so that other work on the machine does not count.
double seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

double time_of(Program program, int steps) {
  const double start = seconds();
  const ir::Kernel structured = jit::structure(lang::capture<Array<double, 1>, Array<const double, 1>>(
      "kernel", {"y", "x"}, [&](Array<double, 1> y, Array<const double, 1> x) { program(y, x, steps); }, {}));
  (void)jit::derive_tangent(structured, {true, true});
  const ir::Kernel adjoint = jit::derive_adjoint(structured, {true, true}, false).kernel;
  (void)jit::gather(adjoint, passes::Gathering::even_if_slower);
  for (const ir::Kernel &kernel : {structured, passes::exchanges_to_loads(adjoint)}) {
    const ir::Kernel lowered = passes::lower_threads(passes::lower_tiles(kernel, passes::cpu_architecture()));
    codegen::EmitOptions options;
    options.comments = false;
    options.arrays.resize(kernel.parameters.size(), {.unit_stride = true});
    (void)codegen::emit_cpu(jit::plan(lowered, {passes::cpu_architecture(), options.arrays, {.debug = options.debug}}),
                            options);
    const passes::Architecture &gpu = passes::gpu_architecture(90);
    (void)codegen::emit_cuda(jit::plan(lowered, {gpu, options.arrays}), options);
  }
  return seconds() - start;
}

// 8 times the steps: linear growth takes about 8 times as long, quadratic growth 64 times. The larger kernel leaves the
// processor's caches, where a step takes up to two and a half times as long.
void expect_linear_growth(Program program, int steps) {
  constexpr int times = 8;
  constexpr double most = 24;
  double factor = 0;
  for (int attempt = 0; attempt < 3; ++attempt) {
    const double small = std::min(time_of(program, steps), time_of(program, steps));
    factor = time_of(program, times * steps) / small;
    if (factor < most) return;
  }
  ADD_FAILURE() << times << " times the steps take " << factor << " times as long";
}

TEST(Growth, OfStraightLineCodeIsLinear) {
  expect_linear_growth(
      [](Array<double, 1> y, Array<const double, 1> x, int steps) {
        Int i = thread_index();
        Double value = x(i);
        for (int k = 0; k < steps; ++k) value = sin(value) * 0.5 + x(i);
        y(i) = value;
      },
      500);
}

TEST(Growth, OfIndicesIsLinear) {
  expect_linear_growth(
      [](Array<double, 1> y, Array<const double, 1> x, int steps) {
        Int i = thread_index(), place = i;
        Double value = x(i);
        for (int k = 0; k < steps; ++k) {
          place = place + i;
          value = value * x(place);
        }
        y(i) = value;
      },
      500);
}

TEST(Growth, OfStoresIsLinear) {
  expect_linear_growth(
      [](Array<double, 1> y, Array<const double, 1> x, int steps) {
        for (int k = 0; k < steps; ++k) y(k) = sin(x(k));
      },
      500);
}

TEST(Growth, OfBranchesIsLinear) {
  expect_linear_growth(
      [](Array<double, 1> y, Array<const double, 1> x, int steps) {
        Int i = thread_index();
        Double value = x(i);
        for (int k = 0; k < steps; ++k) if_(value > k, [&] { value = sin(value); });
        y(i) = value;
      },
      250);
}

TEST(Growth, OfLoopsOneAfterAnotherIsLinear) {
  expect_linear_growth(
      [](Array<double, 1> y, Array<const double, 1> x, int steps) {
        Int i = thread_index();
        Double value = x(i);
        for (int k = 0; k < steps; ++k)
          for (Int j : range(3)) value = sin(value) + cast<Double>(j);
        y(i) = value;
      },
      150);
}

}  // namespace
}  // namespace samite::test
