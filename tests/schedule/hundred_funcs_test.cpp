// Pipelines of 100 Funcs are lowered in a moment: what is needed of each does not grow from Func to Func.
#include "samite/schedule/lower.h"
#include "tests/lang/captured_pipeline.h"

#include <gtest/gtest.h>

#include <ctime>
#include <functional>

namespace samite::test {
namespace {

constexpr int funcs = 100;

// The next one of those that there are.
using Next = std::function<Float(const std::vector<Func<float>> &, const Var &, const Var &)>;

// All of them at the root, where each has a kernel of its own. In milliseconds of a processor.
double time_to_lower(const Next &next, bool gpu) {
  const ir::CapturedPipeline captured = captured_pipeline([&](Array<float, 2> out, Array<const float, 2> in) {
    Var y{"y"}, x{"x"};
    std::vector<Func<float>> all{repeat_edge(in)};
    while (all.size() < funcs) {
      const Float value = next(all, y, x);
      all.emplace_back("f" + std::to_string(all.size()));
      all.back()(y, x) = value;
    }
    Func result{"result", out};
    result(y, x) = all.back()(y, x);
    const auto directives = [&] {
      for (std::size_t i = 1; i < all.size(); ++i) all[i].compute_root();
    };
    schedule_cpu(directives);
    schedule_cuda(directives);
  });
  const std::clock_t begin = std::clock();
  const schedules::Program program = schedules::lower(captured, {.gpu = gpu});
  const double time = 1e3 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  EXPECT_EQ(program.temporary_count, funcs - 1);
  return time;
}

// A tenth of that on a machine that does nothing else; busy machines take longer.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double most = 15'000;
#else
constexpr double most = 1500;
#endif

void expect_quick(const Next &next) {
  EXPECT_LT(time_to_lower(next, false), most);
  EXPECT_LT(time_to_lower(next, true), most);
}

TEST(HundredFuncs, InAChainOfStencils) {
  expect_quick([](const auto &all, const Var &y, const Var &x) {
    const Func<float> &f = all.back();
    return f(y - 1, x) + f(y, x - 1) + f(y, x) + f(y, x + 1) + f(y + 1, x);
  });
}

TEST(HundredFuncs, InPyramids) {
  expect_quick([](const auto &all, const Var &y, const Var &x) {
    const Func<float> &f = all.back();
    if (all.size() % 20 < 10) return f(2 * y - 1, 2 * x) + f(2 * y + 1, 2 * x + 1);
    return f(y >> 1, x >> 1) + f((y + 1) >> 1, (x + 1) >> 1);
  });
}

TEST(HundredFuncs, ByChance) {
  std::uint32_t seed = 1;
  const auto below = [&](std::size_t bound) {
    seed = seed * 1664525u + 1013904223u;
    return static_cast<std::size_t>((seed >> 8) % bound);
  };
  expect_quick([&](const auto &all, const Var &y, const Var &x) {
    Float sum = all.back()(y, x + 1);
    for (int i = 0; i < 2; ++i)
      sum += all[below(all.size())](y + static_cast<int>(below(5)) - 2, x + static_cast<int>(below(5)) - 2);
    return sum;
  });
}

}  // namespace
}  // namespace samite::test
