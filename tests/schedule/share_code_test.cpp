// Kernels of a program that differ in names and in the constants of their bounds share one compiled function; all
// others do not.
#include "samite/base/code_names.h"
#include "samite/jit/pipeline_definition.h"
#include "samite/jit/scheduled.h"
#include "samite/jit/scheduled_program.h"
#include "samite/samite.h"
#include "samite/schedule/lower.h"
#include "tests/lang/captured_pipeline.h"
#include "tests/runtime/message_of.h"
#include "tests/runtime/test_device.h"
#include "tests/schedule/program_interpreter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <random>
#include <set>
#include <string>
#include <tuple>
#include <vector>

namespace samite::test {
namespace {

using testing::HasSubstr;

// Defines a Func by the previous one.
using StageOf = std::function<void(Func<int> &, const Func<int> &, const Var &y, const Var &x)>;

ir::CapturedPipeline chain_of(const std::vector<StageOf> &stages) {
  return captured_pipeline([&](Array<int, 2> out, Array<const int, 2> in) {
    const Var y{"y"}, x{"x"};
    std::vector<Func<int>> all{repeat_edge(in)};
    for (const StageOf &stage : stages) {
      Func<int> next("f" + std::to_string(all.size()));
      stage(next, all.back(), y, x);
      all.push_back(next);
    }
    Func result{"result", out};
    result(y, x) = all.back()(y, x);
    schedule_cpu([&] {
      for (std::size_t i = 1; i < all.size(); ++i) all[i].compute_root();
    });
  });
}

// The text of each kernel of the launched pipeline, without its names.
std::vector<std::string> texts_of(const ir::CapturedPipeline &captured, bool debug = false) {
  const auto definition = std::make_shared<jit::PipelineDefinition>(captured);
  Buffer<int> out(Device::cpu(), {5, 7}), in(Device::cpu(), {5, 7});
  in.fill(1);
  jit::record_pipeline(definition, {.debug = debug}, {{out, 0}, {in, 0}}, {}).launch();
  std::vector<std::string> texts;
  std::map<std::string, const void *> images;
  for (const auto &made : definition->programs())
    for (const auto &kernel : made.program->kernels())
      for (const auto &variant : kernel->variants()) {
        texts.emplace_back(without_code_names(variant->text.source));
        // Equal texts are one image, and others are not.
        const auto [known, added] = images.emplace(texts.back(), variant->host.image.get());
        EXPECT_EQ(known->second, variant->host.image.get());
        for (const auto &[text, image] : images)
          if (text != texts.back()) EXPECT_NE(image, variant->host.image.get());
      }
  return texts;
}

std::size_t different(const std::vector<std::string> &texts) { return std::set(texts.begin(), texts.end()).size(); }

void stencil(Func<int> &f, const Func<int> &p, const Var &y, const Var &x) {
  f(y, x) = p(y - 1, x) + 2 * p(y, x + 1) - p(y + 1, x);
}

TEST(ShareCode, AChainOfStencilsIsCompiledOnce) {
  SAMITE_ON_THE_CPU();
  for (const bool debug : {false, true}) {
    const std::vector<std::string> texts = texts_of(chain_of(std::vector<StageOf>(8, stencil)), debug);
    EXPECT_EQ(texts.size(), 9u);
    // The first one clamps its indices, the last one has the extents of the output, and the result is another Func.
    EXPECT_EQ(different(texts), 4u) << texts[1] << texts[2];
  }
}

// Between two pairs of equal Funcs, so that all have the same readers and reads.
TEST(ShareCode, WhatDiffersOtherwiseIsNotShared) {
  SAMITE_ON_THE_CPU();
  const std::map<std::string, StageOf> others = {
      {"a constant", [](auto &f, const auto &p, const Var &y,
                        const Var &x) { f(y, x) = p(y - 1, x) + 3 * p(y, x + 1) - p(y + 1, x); }},
      {"an offset", [](auto &f, const auto &p, const Var &y,
                       const Var &x) { f(y, x) = p(y - 1, x) + 2 * p(y, x + 2) - p(y + 1, x); }},
      {"an operation", [](auto &f, const auto &p, const Var &y,
                          const Var &x) { f(y, x) = p(y - 1, x) + 2 * p(y, x + 1) + p(y + 1, x); }},
      {"the order of its dimensions", [](auto &f, const auto &p, const Var &y,
                                         const Var &x) { f(x, y) = p(y - 1, x) + 2 * p(y, x + 1) - p(y + 1, x); }},
      {"a clamp", [](auto &f, const auto &p, const Var &y,
                     const Var &x) { f(y, x) = p(y - 1, x) + 2 * p(y, x + 1) - p(clamp(y + 1, -9, 9), x); }},
  };
  for (const auto &[what, other] : others) {
    const std::vector<std::string> texts = texts_of(chain_of({stencil, stencil, stencil, other, stencil, stencil}));
    EXPECT_EQ(std::ranges::count(texts, texts[3]), 1) << what << "\n" << texts[3];
    EXPECT_EQ(texts[1], texts[2]) << what;
  }
}

TEST(ShareCode, TypesAndLoopsDiffer) {
  SAMITE_ON_THE_CPU();
  const ir::CapturedPipeline captured =
      captured_pipeline([](Array<float, 1> out, Array<const float, 1> in, Array<const double, 1> wide) {
        const Var x{"x"};
        Func<float> a{"a"}, b{"b"}, c{"c"};
        Func<double> d{"d"};
        a(x) = in(x) * 2;
        b(x) = in(x) * 2;
        c(x) = in(x) * 2;
        d(x) = wide(x) * 2;
        Func result{"result", out};
        result(x) = a(x) + b(x) + c(x) + cast<Float>(d(x));
        schedule_cpu([&] {
          a.compute_root();
          b.compute_root();
          c.compute_root().vectorize(x, 4);
          d.compute_root();
        });
      });
  const auto definition = std::make_shared<jit::PipelineDefinition>(captured);
  Buffer<float> out(Device::cpu(), {9}), in(Device::cpu(), {9});
  Buffer<double> wide(Device::cpu(), {9});
  in.fill(1), wide.fill(3);
  jit::record_pipeline(definition, {}, {{out, 0}, {in, 0}, {wide, 0}}, {}).launch();
  EXPECT_EQ(out.to_vector(), std::vector<float>(9, 12));
  std::map<std::string, const void *> images;
  for (const auto &kernel : definition->programs().at(0).program->kernels())
    images[kernel->name()] = kernel->variants().at(0)->host.image.get();
  ASSERT_EQ(images.size(), 5u);
  const std::string a = images.begin()->first, prefix = a.substr(0, a.rfind('_') + 1);
  EXPECT_EQ(images.at(prefix + "a"), images.at(prefix + "b"));
  EXPECT_NE(images.at(prefix + "a"), images.at(prefix + "c"));
  EXPECT_NE(images.at(prefix + "a"), images.at(prefix + "d"));
}

// A failure of a shared function names the Func whose kernel ran.
TEST(ShareCode, MessagesNameTheirOwnFunc) {
  SAMITE_ON_THE_CPU();
  for (const std::string failing : {"first", "second"}) {
    const Pipeline pipeline{
        "checked", {"out", "a", "b"}, [](Array<int, 1> out, Array<const int, 1> a, Array<const int, 1> b) {
          const Var x{"x"};
          Func<int> first{"first"}, second{"second"};
          first(x) = 7 / a(x), second(x) = 7 / b(x);
          Func result{"result", out};
          result(x) = first(x) + second(x);
          schedule_cpu([&] { first.compute_root(), second.compute_root(); });
        }};
    Buffer<int> out(Device::cpu(), {3}), a(Device::cpu(), {3}), b(Device::cpu(), {3});
    a.fill(failing == "first" ? 0 : 1), b.fill(failing == "second" ? 0 : 1);
    EXPECT_THAT(message_of<UserError>([&] {
                  pipeline.launch({.debug = true}, out, a, b);
                  Stream::standard(Device::cpu()).synchronize();
                }),
                HasSubstr("checked_" + failing));
  }
}

// A random chain of stages, many of them repeated, and their meaning.
struct RandomChain {
  enum class Kind : std::uint8_t { stencil, halve, twice, edges };
  struct Stage {
    Kind kind;
    int constant;
  };
  std::vector<Stage> stages;

  explicit RandomChain(unsigned seed) {
    std::mt19937 engine(seed);
    const auto below = [&](unsigned bound) { return static_cast<int>(engine() % bound); };
    int halved = 0;
    while (stages.size() < 9) {
      const Stage stage{static_cast<Kind>(below(4)), 1 + below(2)};
      for (int repeated = 1 + below(3); repeated-- > 0;)
        if (stage.kind != Kind::halve || ++halved < 4) stages.push_back(stage);
    }
  }

  ir::CapturedPipeline captured() const {
    return captured_pipeline([&](Array<int, 2> out, Array<const int, 2> in) {
      const Var y{"y"}, x{"x"};
      std::vector<Func<int>> all{repeat_edge(in)};
      for (const auto &[kind, k] : stages) {
        Func<int> f("f" + std::to_string(all.size()));
        const Func<int> &p = all.back();
        const int number = static_cast<int>(all.size());
        switch (kind) {
          case Kind::stencil: f(y, x) = p(y - 1, x) + k * p(y, x + 1) - p(y, x); break;
          case Kind::halve: f(y, x) = p(2 * y, 2 * x + 1) - k * p(2 * y + 1, 2 * x); break;
          case Kind::twice: f(y, x) = p(y >> 1, x >> 1) + k * p((y + 1) >> 1, x); break;
          case Kind::edges:
            f(y, x) = k * p(clamp(y, 0, in.extent(0) - number), clamp(x, -number, in.extent(1) + k));
            break;
        }
        all.push_back(f);
      }
      Func result{"result", out};
      result(y, x) = all.back()(y, x);
      schedule_cpu([&] {
        for (std::size_t i = 1; i < all.size(); ++i) all[i].compute_root();
      });
    });
  }

  // The value of the Func of this number.
  std::int64_t value(std::size_t func, int y, int x, const InterpretedArray &in) {
    const int rows = static_cast<int>(in.extents[0]), columns = static_cast<int>(in.extents[1]);
    if (func == 0) {
      const int row = std::clamp(y, 0, rows - 1), column = std::clamp(x, 0, columns - 1);
      return in.values[static_cast<std::size_t>(row * columns + column)];
    }
    const auto key = std::tuple(func, y, x);
    if (const auto found = known_.find(key); found != known_.end()) return found->second;
    const auto &[kind, k] = stages[func - 1];
    const int number = static_cast<int>(func);
    const auto p = [&](int at_y, int at_x) { return value(func - 1, at_y, at_x, in); };
    std::int64_t sum = 0;
    switch (kind) {
      case Kind::stencil: sum = p(y - 1, x) + k * p(y, x + 1) - p(y, x); break;
      case Kind::halve: sum = p(2 * y, 2 * x + 1) - k * p(2 * y + 1, 2 * x); break;
      case Kind::twice: sum = p(y >> 1, x >> 1) + k * p((y + 1) >> 1, x); break;
      case Kind::edges:
        sum = k * p(std::max(0, std::min(y, rows - number)), std::max(-number, std::min(x, columns + k)));
        break;
    }
    return known_[key] = static_cast<std::int32_t>(sum);
  }

 private:
  std::map<std::tuple<std::size_t, int, int>, std::int64_t> known_;
};

TEST(ShareCode, ChainsByChanceAreRight) {
  SAMITE_ON_THE_CPU();
  constexpr std::int64_t rows = 19, columns = 23;
  std::size_t kernels = 0, functions = 0;
  for (unsigned seed = 0; seed < 12; ++seed) {
    RandomChain chain(seed);
    InterpretedArray in{{rows, columns}, {}, {}};
    for (int i = 0; i < rows * columns; ++i) in.values.push_back(i * 37 % 101 - 50);
    in.known.assign(in.values.size(), true);
    std::vector<std::int64_t> expected;
    for (int y = 0; y < 5; ++y)
      for (int x = 0; x < 6; ++x) expected.push_back(chain.value(chain.stages.size(), y, x, in));
    const ir::CapturedPipeline captured = chain.captured();

    std::vector<InterpretedArray> arrays{{{5, 6}, std::vector<std::int64_t>(30), std::vector<char>(30)}, in};
    run_program(schedules::lower(captured, {}), arrays, /*gpu=*/false);
    EXPECT_EQ(arrays[0].values, expected) << seed;

    if (seed % 4 != 0) continue;
    const std::vector<int> values(in.values.begin(), in.values.end());
    Buffer<int> out(Device::cpu(), {5, 6}), given(Device::cpu(), {rows, columns}, values);
    const auto definition = std::make_shared<jit::PipelineDefinition>(captured);
    jit::record_pipeline(definition, {.debug = seed % 8 == 0}, {{out, 0}, {given, 0}}, {}).launch();
    const std::vector<int> found = out.to_vector();
    EXPECT_EQ(std::vector<std::int64_t>(found.begin(), found.end()), expected) << seed;
    std::set<const void *> images;
    for (const auto &kernel : definition->programs().at(0).program->kernels()) {
      ++kernels;
      images.insert(kernel->variants().at(0)->host.image.get());
    }
    functions += images.size();
  }
  EXPECT_LT(functions, kernels);
}

}  // namespace
}  // namespace samite::test
