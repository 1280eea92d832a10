// That what a derivation takes grows as the kernel does: long straight-line code is what a C++ loop in a kernel writes.
#include "samite/jit/pipeline.h"
#include "samite/samite.h"

#include <gtest/gtest.h>

#include <chrono>

namespace samite {
namespace {

// Seconds; the least of a few.
template <class F>
double seconds(const F &f) {
  double least = 1e9;
  for (int run = 0; run < 3; ++run) {
    const auto start = std::chrono::steady_clock::now();
    f();
    least = std::min(least, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return least;
}

ir::Kernel unrolled(int steps) {
  return jit::structure(lang::capture<Array<float, 1>, Array<const float, 1>>(
      "unrolled", {"y", "x"},
      [&](const Array<float, 1> &y, const Array<const float, 1> &x) {
        Int i = thread_index();
        Float value = x(i);
        for (int step = 0; step < steps; ++step) value = value * 0.999f + 0.001f * sin(value);
        y(i) = value;
      },
      std::source_location::current()));
}

TEST(DerivationTime, GrowsWithStraightLineCode) {
  const ir::Kernel small = unrolled(250), large = unrolled(4000);
  const auto adjoint = [](const ir::Kernel &kernel) { jit::derive_adjoint(kernel, {true, true}, false); };
  const auto tangent = [](const ir::Kernel &kernel) { jit::derive_tangent(kernel, {true, true}); };
  // 16 times the code: 16 times the time, and 256 times if each statement looked at all others.
  EXPECT_LE(seconds([&] { adjoint(large); }), 64 * seconds([&] { adjoint(small); }));
  EXPECT_LE(seconds([&] { tangent(large); }), 64 * seconds([&] { tangent(small); }));
}

}  // namespace
}  // namespace samite
