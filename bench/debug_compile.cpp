// How long kernels with many checked accesses compile in debug mode, compared with release mode; and the inverse of 12
// × 12, the longest straight-line code of the library's functions. On the CPU, with an empty cache.
#include "bench/support/alternate.h"
#include "bench/support/cache_folder.h"
#include "bench/support/report.h"
#include "samite/jit/variant.h"
#include "samite/samite.h"

#include <fmt/core.h>

#include <functional>
#include <stdexcept>

using namespace samite;

namespace {

// A number that is in the kernel's code, so that no cache has it.
float fresh() {
  static float number = 1;
  return number += 0.001f;
}

const jit::Variant &compiled(const Launch &launch) {
  const jit::Variant &variant = launch.variant();
  if (variant.host.compile.from_cache || variant.host.compile.from_memory)
    throw std::runtime_error("a kernel came from a cache, where a compile is to be timed");
  return variant;
}

void stores(bool debug) {
  constexpr int count = 24;
  Kernel kernel{"stores", [number = fresh()](Array<float, 1> y, Array<const float, 1> x) {
                  Int i = thread_index();
                  for (int k = 0; k < count; ++k) y(i * count + k) = x(i) * (number + static_cast<float>(k));
                }};
  Buffer<float> y{Device::cpu(), {10 * count}}, x{Device::cpu(), {10}};
  compiled(kernel.record({10}, {.debug = debug}, y, x));
}

void branches(bool debug) {
  constexpr int depth = 50;
  Kernel kernel{"branches", [number = fresh()](Array<float, 2> y, Array<const float, 2> x) {
                  auto [i, j] = thread_index<2>();
                  const std::function<void(int)> nest = [&](int level) {  // NOLINT(misc-no-recursion)
                    if (level == depth) return;
                    if_(x(i + level, j) > number + static_cast<float>(level), [&] {
                      y(i, j) += x(i, j + level);
                      nest(level + 1);
                    });
                  };
                  nest(0);
                }};
  Buffer<float> y{Device::cpu(), {4, 5}}, x{Device::cpu(), {4 + depth, 5 + depth}};
  compiled(kernel.record({4, 5}, {.debug = debug}, y, x));
}

void neighbours(bool debug) {
  Kernel kernel{"neighbours", [number = fresh()](Array<float, 3> y, Array<const float, 3> x) {
                  auto [i, j, k] = thread_index<3>();
                  Float sum = 0;
                  for (int a = 0; a < 3; ++a)
                    for (int b = 0; b < 3; ++b)
                      for (int c = 0; c < 3; ++c) sum += number * x(i + a, j + b, k + c);
                  y(i, j, k) = sum;
                }};
  Buffer<float> y{Device::cpu(), {4, 4, 4}}, x{Device::cpu(), {6, 6, 6}};
  compiled(kernel.record({4, 4, 4}, {.debug = debug}, y, x));
}

void large_inverse() {
  constexpr int size = 12;
  Kernel kernel{"large_inverse", [number = fresh()](Array<float, 2> y, Array<const float, 2> x) {
                  Int i = thread_index();
                  const auto matrix = Matrix<Float, size, size>::generate(
                      [&](int row, int column) { return Float(x(row * size + column, i) * number); });
                  const auto result = inverse(matrix);
                  for (int row = 0; row < size; ++row)
                    for (int column = 0; column < size; ++column) y(row * size + column, i) = result(row, column);
                }};
  Buffer<float> y{Device::cpu(), {size * size, 32}}, x{Device::cpu(), {size * size, 32}};
  compiled(kernel.record({32}, y, x));
}

}  // namespace

int main() {
  return bench::run("debug_compile", [](bench::Report &report) {
    bench::CacheFolder cache;
    stores(true);  // opens the plug-in and precompiles the prelude
    const auto beside_release = [&](const std::string &name, void (*compile)(bool)) {
      const bench::Outcome outcome = bench::alternate({.rounds = 7}, [&] { compile(true); }, [&] { compile(false); });
      report.add({name, "compile time in debug mode", outcome.ours * 1e3, "ms", "in release", outcome.peer * 1e3},
                 {.ratio_at_least = 0.5});
    };
    beside_release("24 stores", stores);
    beside_release("50 nested branches", branches);
    beside_release("3 × 3 × 3 neighbours", neighbours);
    const bench::Outcome inverse = bench::alternate({.rounds = 1}, large_inverse, [] { neighbours(false); });
    report.add({"inverse of 12 × 12 f32", "compile time", inverse.ours, "s", "3 × 3 × 3 neighbours", inverse.peer},
               {.value_at_most = 2});
  });
}
