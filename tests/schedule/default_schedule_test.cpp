// Pipelines without a schedule: their loop nests.
#include "samite/schedule/lower.h"
#include "tests/lang/captured_pipeline.h"

#include <gmock/gmock.h>

namespace samite::test::default_schedule {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

template <class F>
std::string default_nest(const F &function, bool gpu) {
  return to_string(schedules::lower(captured_pipeline(function), {.gpu = gpu}).nest);
}

const Var y{"y"}, x{"x"}, p{"p"}, c{"c"};

const auto cheap = [](Array<float, 2> out, Array<const float, 2> in) {
  Func doubled{"doubled"}, result{"result", out};
  doubled(y, x) = in(y, x) * 2;
  result(y, x) = doubled(y, x) + doubled(y, x + 1);
};

TEST(DefaultSchedule, InlinesWhatIsCheap) {
  EXPECT_EQ(default_nest(cheap, false), R"(pipeline pipeline:
  produce result:
    kernel pipeline_result:
      parallel result.y:
        vectorized result.x:
          result(y, x) = …
)");
}

TEST(DefaultSchedule, IsAThreadAnElementOnAGpu) {
  EXPECT_EQ(default_nest(cheap, true), R"(pipeline pipeline:
  produce result:
    kernel pipeline_result, 512 threads a block:
      gpu_block result.y:
        gpu_block result.x:
          gpu_thread result.y_i in 0 .. 8:
            gpu_thread result.x_i in 0 .. 64:
              result(y, x) = …
)");
}

const auto dear = [](Array<float, 2> out, Array<const float, 2> in) {
  Func curve{"curve"}, result{"result", out};
  Float sum = 0;
  for (int i = 1; i < 8; ++i) sum = sum + exp(in(y, x) * float(i));
  curve(y, x) = sum;
  result(y, x) = curve(y, x) + curve(y, x + 1);
};

TEST(DefaultSchedule, ComputesWhatIsDearAndCalledTwiceOnce) {
  for (const bool gpu : {false, true})
    EXPECT_THAT(default_nest(dear, gpu),
                HasSubstr("  store curve in device memory: f32[y ?, x ?]\n  produce curve:\n"));
  EXPECT_THAT(default_nest(dear, false), HasSubstr("      parallel curve.y:\n        vectorized curve.x:\n"));
  EXPECT_THAT(default_nest(dear, true), HasSubstr("gpu_thread curve.x_i in 0 .. 64:\n"));
}

TEST(DefaultSchedule, InlinesWhatIsCalledOnce) {
  const auto once = [](Array<float, 2> out, Array<const float, 2> in) {
    Func curve{"curve"}, result{"result", out};
    Float sum = 0;
    for (int i = 1; i < 8; ++i) sum = sum + exp(in(y, x) * float(i));
    curve(y, x) = sum;
    result(y, x) = curve(y, x) + 1;
  };
  EXPECT_THAT(default_nest(once, false), Not(HasSubstr("curve")));
}

// Each of 3 x 3 x 3 x … calls would be computed at its use.
TEST(DefaultSchedule, DoesNotInlineAChainOfStencils) {
  const auto chain = [](Array<float, 2> out, Array<const float, 2> in) {
    std::vector<Func<float>> stages;
    for (int i = 0; i < 12; ++i) stages.emplace_back("stage" + std::to_string(i));
    Func result{"result", out};
    stages[0](y, x) = in(y, x);
    for (std::size_t i = 1; i < stages.size(); ++i)
      stages[i](y, x) = stages[i - 1](y, x - 1) + stages[i - 1](y, x) + stages[i - 1](y + 1, x);
    result(y, x) = stages.back()(y, x);
  };
  const std::string text = default_nest(chain, false);
  EXPECT_THAT(text, HasSubstr("produce stage6:"));
  EXPECT_THAT(text, Not(HasSubstr("produce stage0:"))) << "a copy";
  std::size_t statements = 0;
  for (const schedules::Step &step : schedules::lower(captured_pipeline(chain), {}).steps)
    if (const auto *launch = std::get_if<schedules::KernelLaunch>(&step.kind))
      ir::for_each_statement(launch->kernel.body, [&](const ir::Stmt &) { ++statements; });
  EXPECT_LT(statements, 2000u);
}

TEST(DefaultSchedule, ComputesWhatAReductionCallsBeforeIt) {
  const auto product = [](Array<float, 2> out, Array<const float, 2> a, Array<const float, 2> b) {
    Func curve{"curve"}, result{"result", out};
    Reduction k{"k", 0, a.extent(1)};
    Float sum = 0;
    for (int i = 1; i < 8; ++i) sum = sum + exp(a(y, c) * float(i));
    curve(y, c) = sum;
    result(y, x) += curve(y, k) * b(k, x);
  };
  EXPECT_THAT(default_nest(product, false), HasSubstr("produce curve:"));
}

TEST(DefaultSchedule, ComputesUpdatesInParallelAlongTheirVariables) {
  const auto sums = [](Array<float, 2> out, Array<const float, 3> in) {
    Func result{"result", out};
    Reduction k{"k", 0, in.extent(2)};
    result(y, x) += in(y, x, k);
  };
  EXPECT_THAT(default_nest(sums, false), HasSubstr("    update 0 of result:\n      kernel pipeline_result_1:\n"
                                                   "        parallel result.y:\n          vectorized result.x:\n"
                                                   "            for result.k:\n"));
}

// A loaded index has no bounds: a Func called there cannot be computed before.
TEST(DefaultSchedule, InlinesWhatIsCalledAtAnyIndex) {
  const auto gathered = [](Array<float, 1> out, Array<const float, 1> in, Array<const std::int32_t, 1> map) {
    Func curve{"curve"}, result{"result", out};
    Float sum = 0;
    for (int i = 1; i < 8; ++i) sum = sum + exp(in(x) * float(i));
    curve(x) = sum;
    result(p) = curve(map(p)) + curve(map(p) + 1);
  };
  for (const bool gpu : {false, true}) EXPECT_THAT(default_nest(gathered, gpu), Not(HasSubstr("produce curve")));
}

TEST(DefaultSchedule, InlinesWhatHasMoreDimensionsThanDeviceMemory) {
  const auto five = [](Array<float, 1> out, Array<const float, 1> in) {
    const Var a{"a"}, b{"b"}, d{"d"};
    Func curve{"curve"}, result{"result", out};
    Float sum = 0;
    for (int i = 1; i < 8; ++i) sum = sum + exp(in(x)*cast<Float>(a + b + c + d) * float(i));
    curve(a, b, c, d, x) = sum;
    result(x) = curve(x, 1, 2, 3, x) + curve(1, x, 2, 3, x);
  };
  EXPECT_THAT(default_nest(five, false), Not(HasSubstr("produce curve")));
}

// Under a schedule that only says where Funcs are computed in `result`.
template <class F>
std::string nest_with_places(const F &directives, bool gpu = false) {
  return to_string(schedules::lower(captured_pipeline([&](Array<float, 2> out, Array<const float, 2> in) {
                                      Func rows{"rows"}, result{"result", out};
                                      rows(y, x) = in(y, x) + in(y, x + 1);
                                      result(y, x) = rows(y, x) + rows(y + 1, x);
                                      schedule_cpu([&] { directives(rows, result); });
                                      schedule_cuda([&] { directives(rows, result); });
                                    }),
                                    {.gpu = gpu})
                       .nest);
}

TEST(DefaultSchedule, KeepsLoopsSerialWhereOthersAreComputed) {
  EXPECT_EQ(nest_with_places([](auto &rows, auto &result) { rows.compute_at(result, x).store_at(result, y); }),
            R"(pipeline pipeline:
  produce result:
    kernel pipeline_result:
      for result.y:
        store rows in memory of its task: f32[y 2, x ?], 2 elements, 8 bytes, pitch 1, folded along x after 1
        for result.x:
          produce rows:
            for rows.y in 0 .. 2:
              for rows.x:
                rows(y, x) = …
          consume rows:
            result(y, x) = …
)");
}

TEST(DefaultSchedule, HasVectorsInsideOfThatLoop) {
  EXPECT_THAT(nest_with_places([](auto &rows, auto &result) { rows.compute_at(result, y); }),
              AllOf(HasSubstr("\n      for result.y:\n"), HasSubstr("\n          vectorized result.x:\n")));
}

TEST(DefaultSchedule, IsSerialOnAGpuToo) {
  EXPECT_THAT(nest_with_places([](auto &rows, auto &result) { rows.compute_at(result, x).store_root(); }, true),
              AllOf(HasSubstr("for result.y:"), Not(HasSubstr("gpu_"))));
}

TEST(DefaultSchedule, KeepsTheLoopsOfAnUpdateSerial) {
  const auto nest = to_string(schedules::lower(captured_pipeline([&](Array<float, 1> out, Array<const float, 1> in) {
                                                 Reduction k{"k", 0, 8};
                                                 Func f{"f"}, sums{"sums", out};
                                                 f(x) = in(x) * 2;
                                                 sums(x) += f(x + k) + f(x + k + 1);
                                                 schedule_cpu([&] { f.compute_at(sums, k).store_at(sums, x); });
                                               }),
                                               {.gpu = false})
                                  .nest);
  EXPECT_THAT(nest, HasSubstr("for sums.x:\n          store f in memory of its task: f32[x 9]"));
}

}  // namespace
}  // namespace samite::test::default_schedule
