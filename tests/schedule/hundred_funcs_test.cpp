// Pipelines of 100 Funcs are lowered quickly: required regions do not grow from Func to Func. And kernels of this many
// loops are right.
#include "samite/jit/pipeline_definition.h"
#include "samite/jit/scheduled.h"
#include "samite/jit/scheduled_program.h"
#include "samite/samite.h"
#include "samite/schedule/lower.h"
#include "tests/lang/captured_pipeline.h"

#include <gtest/gtest.h>

#include <ctime>
#include <functional>
#include <memory>
#include <random>
#include <string>
#include <vector>

namespace samite::test {
namespace {

constexpr int funcs = 100;

// The next Func, from the previous ones.
using Next = std::function<Float(const std::vector<Func<float>> &, const Var &, const Var &)>;

// At the root each has a kernel of its own; in a tile of the result all are computed in one kernel.
enum class Where : std::uint8_t { root, tile };

// In milliseconds of a processor.
double time_to_lower(const Next &next, Where where, bool gpu) {
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
    const Var yo{"yo"}, xo{"xo"}, yi{"yi"}, xi{"xi"};
    schedule_cpu([&] {
      if (where == Where::tile) result.tile(x, y, xo, yo, xi, yi, 8, 8).parallel(yo);
      for (std::size_t i = 1; i < all.size(); ++i)
        if (where == Where::tile)
          all[i].compute_at(result, xo);
        else
          all[i].compute_root();
    });
    schedule_cuda([&] {
      if (where == Where::tile) result.gpu_tile(x, y, xo, yo, xi, yi, 2, 2);
      for (std::size_t i = 1; i < all.size(); ++i)
        if (where == Where::tile)
          all[i].compute_at(result, xo).store_in(Memory::shared);
        else
          all[i].compute_root();
    });
  });
  const std::clock_t begin = std::clock();
  const schedules::Program program = schedules::lower(captured, {.gpu = gpu});
  const double time = 1e3 * static_cast<double>(std::clock() - begin) / CLOCKS_PER_SEC;
  EXPECT_EQ(program.temporary_count, where == Where::root ? funcs - 1 : 0);
  return time;
}

// A twentieth of that or less on a machine that does nothing else; busy machines take longer.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr double most = 6000;
#else
constexpr double most = 600;
#endif

void expect_quick(const Next &next, Where where = Where::root) {
  for (const bool gpu : {false, true}) EXPECT_LT(time_to_lower(next, where, gpu), most) << gpu;
}

Float stencil(const std::vector<Func<float>> &all, const Var &y, const Var &x) {
  const Func<float> &f = all.back();
  return f(y - 1, x) + f(y, x - 1) + f(y, x) + f(y, x + 1) + f(y + 1, x);
}

TEST(HundredFuncs, InAChainOfStencils) { expect_quick(stencil); }
TEST(HundredFuncs, InATileOfAChainOfStencils) { expect_quick(stencil, Where::tile); }

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

// Each loop of the tile is a function of the kernel's text; at the root each Func has a kernel.
TEST(HundredFuncs, InATileAsAtTheRoot) {
  constexpr int stages = 40;
  const Pipeline chain{"chain", {"out", "in"}, [](Array<float, 2> out, Array<const float, 2> in) {
                         const Var y{"y"}, x{"x"}, yo{"yo"}, xo{"xo"}, yi{"yi"}, xi{"xi"};
                         std::vector<Func<float>> all{repeat_edge(in)};
                         for (int i = 1; i < stages; ++i) {
                           const Float value = stencil(all, y, x) * 0.25f;
                           all.emplace_back("f" + std::to_string(i));
                           all.back()(y, x) = value;
                         }
                         Func result{"result", out};
                         result(y, x) = all.back()(y, x);
                         schedule_cpu([&] {
                           result.tile(x, y, xo, yo, xi, yi, 64, 64);
                           for (std::size_t i = 1; i < all.size(); ++i) all[i].compute_at(result, xo);
                         });
                         schedule("root", [&] {
                           for (std::size_t i = 1; i < all.size(); ++i) all[i].compute_root();
                         });
                       }};
  std::vector<float> values;
  for (int i = 0; i < 70 * 65; ++i) values.push_back(static_cast<float>(i * 37 % 101));
  const Buffer<float> in{Device::cpu(), {70, 65}, values}, tiled{Device::cpu(), {70, 65}},
      root{Device::cpu(), {70, 65}};
  chain.launch(tiled, in);
  chain.launch({.schedule = "root"}, root, in);
  const std::vector<float> expected = root.to_vector(), found = tiled.to_vector();
  for (std::size_t i = 0; i < expected.size(); ++i) ASSERT_NEAR(found[i], expected[i], 1e-4 * expected[i]) << i;
}

// Stages that are equal except for their sizes, and others between them: of another type, stored in another order, in
// vectors of other widths, with other offsets.
void mixed_stages(std::vector<Func<int>> &all, const Var &y, const Var &x, unsigned seed) {
  std::mt19937 engine(seed);
  while (all.size() < 45) {
    const Func<int> &f = all.back();
    Func<int> next("f" + std::to_string(all.size()));
    const int k = 1 + static_cast<int>(engine() % 2);
    switch (engine() % 6) {
      case 0: next(y, x) = f(y - 1, x) + f(y, x + k) - f(y + 1, x); break;
      case 1: next(y, x) = f(y - 1, x) + f(y, x + 1) - f(y + 1, x); break;
      case 2: next(x, y) = f(y - 1, x) + f(y, x + 1) - f(y + 1, x); break;
      case 3: next(y, x) = cast<Int>(cast<Float>(f(y - 1, x) & 255) * 0.5f) + f(y, x + k); break;
      case 4: next(y, x) = cast<Int>(cast<UInt8>(f(y - 1, x) + f(y, x + k))); break;
      default: next(y, x) = f(y - 1, x) * f(y, x + k); break;
    }
    all.push_back(next);
  }
}

std::vector<int> run_mixed(unsigned seed, Where where, std::size_t *functions = nullptr) {
  const ir::CapturedPipeline captured = captured_pipeline([&](Array<int, 2> out, Array<const int, 2> in) {
    const Var y{"y"}, x{"x"}, yo{"yo"}, xo{"xo"}, yi{"yi"}, xi{"xi"};
    std::vector<Func<int>> all{repeat_edge(in)};
    mixed_stages(all, y, x, seed);
    Func result{"result", out};
    result(y, x) = all.back()(y, x);
    schedule_cpu([&] {
      if (where == Where::tile) result.tile(x, y, xo, yo, xi, yi, 64, 64);
      std::mt19937 engine(seed);
      for (std::size_t i = 1; i < all.size(); ++i) {
        if (where == Where::root) {
          all[i].compute_root();
          continue;
        }
        all[i].compute_at(result, xo);
        if (const auto width = engine() % 4; width > 1) all[i].vectorize(x, width == 2 ? 4 : 8);
      }
    });
  });
  const auto definition = std::make_shared<jit::PipelineDefinition>(captured);
  std::vector<int> values;
  for (int i = 0; i < 30 * 25; ++i) values.push_back(i * 37 % 1001 - 500);
  const Buffer<int> in{Device::cpu(), {30, 25}, values}, out{Device::cpu(), {70, 65}};
  jit::record_pipeline(definition, {}, {{out, 0}, {in, 0}}, {}).launch();
  if (functions)
    for (const auto &kernel : definition->programs().at(0).program->kernels()) {
      const std::string &text = kernel->variants().at(0)->text.source;
      for (std::size_t at = text.find("const auto loop"); at != std::string::npos;
           at = text.find("const auto loop", at + 1))
        ++*functions;
    }
  return out.to_vector();
}

TEST(HundredFuncs, LoopsOfATileShareFunctionsOnlyWhereTheyAreAlike) {
  for (unsigned seed = 1; seed <= 3; ++seed) {
    std::size_t functions = 0;
    EXPECT_EQ(run_mixed(seed, Where::tile, &functions), run_mixed(seed, Where::root)) << seed;
    EXPECT_GT(functions, 6u);
    EXPECT_LT(functions, 40u);
  }
}

}  // namespace
}  // namespace samite::test
