// Schedules: the directives that the scheduling functions record, and refused calls.

#include "samite/lang/schedule.h"

#include "samite/base/error.h"
#include "tests/lang/captured_pipeline.h"
#include "tests/runtime/message_of.h"

namespace samite {
namespace {

using test::at_line;
using test::captured_pipeline;
using test::refusal_of_pipeline;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using Kind = ir::Directive::Kind;

// "split y yo yi 8" for each directive, with the number of its definition if it is an update's, and with another Func
// if it has one.
std::vector<std::string> said(const ir::CapturedPipeline &pipeline, std::size_t schedule = 0) {
  static const std::map<Kind, std::string> names{{Kind::split, "split"},
                                                 {Kind::fuse, "fuse"},
                                                 {Kind::reorder, "reorder"},
                                                 {Kind::rename, "rename"},
                                                 {Kind::serial, "serial"},
                                                 {Kind::unroll, "unroll"},
                                                 {Kind::vectorize, "vectorize"},
                                                 {Kind::parallel, "parallel"},
                                                 {Kind::gpu_block, "gpu_block"},
                                                 {Kind::gpu_thread, "gpu_thread"},
                                                 {Kind::compute_inline, "compute_inline"},
                                                 {Kind::compute_root, "compute_root"},
                                                 {Kind::compute_at, "compute_at"},
                                                 {Kind::store_root, "store_root"},
                                                 {Kind::store_at, "store_at"},
                                                 {Kind::store_in, "store_in"},
                                                 {Kind::reorder_storage, "reorder_storage"},
                                                 {Kind::pad, "pad"},
                                                 {Kind::fold_storage, "fold_storage"},
                                                 {Kind::bound, "bound"},
                                                 {Kind::align_bounds, "align_bounds"},
                                                 {Kind::atomic, "atomic"},
                                                 {Kind::allow_race_conditions, "allow_race_conditions"},
                                                 {Kind::rfactor, "rfactor"},
                                                 {Kind::in, "in"},
                                                 {Kind::compute_with, "compute_with"},
                                                 {Kind::specialize, "specialize"},
                                                 {Kind::pipelined, "pipelined"}};
  std::vector<std::string> lines;
  for (const ir::Directive &directive : pipeline.schedules.at(schedule).directives) {
    std::string line = pipeline.funcs.at(directive.func).name;
    if (directive.definition != 0) line += "." + std::to_string(directive.definition);
    line += " " + names.at(directive.kind);
    for (const std::string &name : directive.names) line += " " + name;
    for (std::int64_t number : directive.numbers) line += " " + std::to_string(number);
    if (directive.other) line += " of " + pipeline.funcs.at(*directive.other).name;
    if (directive.other_definition != 0) line += "." + std::to_string(directive.other_definition);
    for (std::uint32_t consumer : directive.consumers) line += " for " + pipeline.funcs.at(consumer).name;
    if (directive.specialization) line += " in " + std::to_string(*directive.specialization);
    lines.push_back(line);
  }
  return lines;
}

// Two Funcs and a schedule for the CPU: `directives` is given them, and variables x, y, k.
template <class F>
ir::CapturedPipeline scheduled(const F &directives) {
  return captured_pipeline([&](Array<const float, 2> a, Int n) {
    Var y{"y"}, x{"x"};
    Reduction k{"k", 0, n};
    Func f{"f"}, g{"g"};
    f(y, x) = a(y, x);
    g(y, x) = f(y, x) + f(y, x + 1);
    g(y, x) += a(y, k);
    schedule_cpu([&] { directives(f, g, y, x, k); });
  });
}
template <class F>
std::vector<std::string> directives_of(const F &directives) {
  return said(scheduled(directives));
}
template <class F>
std::string refusal_of_schedule(const F &directives) {
  return message_of<UserError>([&] { scheduled(directives); });
}

TEST(Schedule, LoopsAreSplitFusedReorderedAndRenamed) {
  const unsigned line = __LINE__ + 2;
  const auto pipeline = scheduled([](auto &, auto &g, const Var &y, const Var &x, const Var &k) {
    g.split(y, "yo", "yi", 32, Tail::shift_inwards)
        .fuse("yo", x, "fused")
        .reorder("yi", "fused")
        .rename("fused", "all");
    g.update().reorder(k, x, y).split(k, k, "ki", 4);
  });
  EXPECT_THAT(said(pipeline), ElementsAre("g split y yo yi 32", "g fuse yo x fused", "g reorder yi fused",
                                          "g rename fused all", "g.1 reorder k x y", "g.1 split k k ki 4"));
  const ir::CapturedSchedule &schedule = pipeline.schedules[0];
  EXPECT_EQ(schedule.directives[0].tail, Tail::shift_inwards);
  EXPECT_EQ(schedule.directives[5].tail, Tail::automatic);
  for (std::size_t i = 0; i < 4; ++i) EXPECT_EQ(schedule.directives[i].where.line, line + i);
}

TEST(Schedule, LoopsHaveKinds) {
  EXPECT_THAT(directives_of([](auto &, auto &g, const Var &y, const Var &x, const Var &k) {
                g.parallel(y).vectorize(x).update(0).serial(y).unroll(k).atomic();
              }),
              ElementsAre("g parallel y", "g vectorize x", "g.1 serial y", "g.1 unroll k", "g.1 atomic"));
}

TEST(Schedule, AFactorSplitsTheLoopFirst) {
  const auto pipeline = scheduled([](auto &f, auto &g, const Var &y, const Var &x, const Var &) {
    g.parallel(y, 4).vectorize(x, 8).unroll(x, 2, Tail::round_up);
    f.unroll(x, 2);
  });
  EXPECT_THAT(said(pipeline), ElementsAre("g split y y y_i 4", "g parallel y", "g split x x x_i 8", "g vectorize x_i",
                                          "g split x x x_i2 2", "g unroll x_i2", "f split x x x_i 2", "f unroll x_i"));
  EXPECT_EQ(pipeline.schedules[0].directives[4].tail, Tail::round_up);
}

TEST(Schedule, TilesAreTwoSplitsAndAnOrder) {
  EXPECT_THAT(directives_of([](auto &f, auto &g, const Var &y, const Var &x, const Var &) {
                g.tile(x, y, "xo", "yo", "xi", "yi", 16, 8);
                f.gpu_tile(x, y, "xo", "yo", "xi", "yi", 32, 4);
              }),
              ElementsAre("g split x xo xi 16", "g split y yo yi 8", "g reorder xi yi xo yo", "f split x xo xi 32",
                          "f split y yo yi 4", "f reorder xi yi xo yo", "f gpu_block xo", "f gpu_block yo",
                          "f gpu_thread xi", "f gpu_thread yi"));
}

TEST(Schedule, LoopsAreThoseOfAGpu) {
  EXPECT_THAT(directives_of([](auto &f, auto &g, const Var &y, const Var &x, const Var &) {
                g.gpu_blocks(y).gpu_threads(x);
                f.gpu_blocks("a", "b", "c").gpu_threads(x, y, "z");
              }),
              ElementsAre("g gpu_block y", "g gpu_thread x", "f gpu_block a", "f gpu_block b", "f gpu_block c",
                          "f gpu_thread x", "f gpu_thread y", "f gpu_thread z"));
}

TEST(Schedule, AFuncIsComputedAndStoredSomewhere) {
  const auto pipeline = scheduled([](auto &f, auto &g, const Var &y, const Var &x, const Var &) {
    f.compute_at(g, x).store_at(g, y).store_in(Memory::shared);
    f.store_in(Memory::registers).store_in(Memory::local).store_in(Memory::device).store_in(Memory::automatic);
    f.compute_root().store_root().compute_inline();
  });
  EXPECT_THAT(said(pipeline),
              ElementsAre("f compute_at x of g", "f store_at y of g", "f store_in", "f store_in", "f store_in",
                          "f store_in", "f compute_root", "f store_root", "f compute_inline"));
  const auto &directives = pipeline.schedules[0].directives;
  EXPECT_EQ(directives[2].space, ir::MemorySpace::shared);
  EXPECT_EQ(directives[3].space, ir::MemorySpace::registers);
  EXPECT_EQ(directives[4].space, ir::MemorySpace::instance);
  EXPECT_EQ(directives[5].space, ir::MemorySpace::device);
}

TEST(Schedule, StorageHasAnOrderAndBounds) {
  EXPECT_THAT(
      directives_of([](auto &f, auto &, const Var &y, const Var &x, const Var &) {
        f.reorder_storage(y, x).pad(x, 1).fold_storage(y, 4).bound(x, -1, 64).align_bounds(x, 8);
      }),
      ElementsAre("f reorder_storage y x", "f pad x 1", "f fold_storage y 4", "f bound x -1 64", "f align_bounds x 8"));
}

TEST(Schedule, LoadsAreAheadOfTheirUse) {
  EXPECT_THAT(said(captured_pipeline([](Array<const float, 1> a) {
                Var x{"x"};
                Func f{"f"}, g{"g"};
                f(x) = a(x);
                g(x) = f(x);
                schedule_cuda([&] { g.pipelined(4); });
              })),
              ElementsAre("g pipelined 4"));
}

TEST(Schedule, DefinitionsShareLoops) {
  EXPECT_THAT(
      directives_of([](auto &f, auto &g, const Var &y, const Var &, const Var &) { f.compute_with(g.update(), y); }),
      ElementsAre("f compute_with y of g.1"));
}

TEST(Schedule, RfactorMakesAFuncOfPartialResults) {
  const auto pipeline = scheduled([](auto &, auto &g, const Var &y, const Var &, const Var &k) {
    auto partial = g.update().split(k, "ko", "ki", 8).rfactor("ki", "u");
    partial.compute_root().vectorize("u").update().parallel(y);
  });
  EXPECT_THAT(said(pipeline), ElementsAre("g.1 split k ko ki 8", "g.1 rfactor ki u of g_partial",
                                          "g_partial compute_root", "g_partial vectorize u", "g_partial.1 parallel y"));
  const ir::Func &partial = pipeline.funcs.at(2);
  EXPECT_TRUE(partial.of_schedule);
  EXPECT_FALSE(pipeline.funcs[1].of_schedule);
  EXPECT_EQ(partial.rank, 3);
  EXPECT_EQ(pipeline.algorithm.parameters.at(partial.array).name, "g_partial");
}

TEST(Schedule, RfactorTakesPairs) {
  EXPECT_THAT(directives_of([](auto &, auto &g, const Var &, const Var &, const Var &) {
                g.update().rfactor({{"ki", "u"}, {"ko", "v"}});
              }),
              ElementsAre("g.1 rfactor ki u ko v of g_partial"));
}

TEST(Schedule, InMakesAFuncBetweenAFuncAndItsCallers) {
  const auto pipeline = scheduled([](auto &f, auto &g, const Var &, const Var &x, const Var &) {
    f.in().compute_root();
    f.in(g).compute_at(g, x);
  });
  EXPECT_THAT(said(pipeline),
              ElementsAre("f in of f_in", "f_in compute_root", "f in of f_in_1 for g", "f_in_1 compute_at x of g"));
  EXPECT_TRUE(pipeline.funcs.at(2).of_schedule);
  EXPECT_EQ(pipeline.funcs[2].rank, 2);
}

TEST(Schedule, ASpecializationHasDirectivesOfItsOwn) {
  const auto pipeline = captured_pipeline([](Array<const float, 1> a, Int n) {
    Var x{"x"};
    Func f{"f"};
    f(x) = a(x);
    schedule_cpu([&] {
      f.split(x, x, "xi", 4);
      Stage wide = f.specialize(n % 8 == 0);
      wide.vectorize("xi");
      wide.specialize(a.extent(0) > 100).parallel(x);
      f.serial(x);
    });
  });
  EXPECT_THAT(said(pipeline), ElementsAre("f split x x xi 4", "f specialize", "f vectorize xi in 1",
                                          "f specialize in 1", "f parallel x in 3", "f serial x"));
  EXPECT_EQ(test::DefinitionText(pipeline).of(pipeline.schedules[0].directives[1].condition.value()),
            "eq(rem(p1, 8), 0)");
}

TEST(Schedule, APipelineHasSeveralByName) {
  const auto pipeline = captured_pipeline([] {
    Var x{"x"};
    Func f{"f"};
    f(x) = 0;
    schedule_cpu([&] { f.parallel(x); });
    schedule_cuda([&] { f.gpu_blocks(x); });
    schedule("wide", [&] { f.vectorize(x, 16); });
  });
  ASSERT_EQ(pipeline.schedules.size(), 3u);
  EXPECT_EQ(pipeline.schedules[0].name, "cpu");
  EXPECT_EQ(pipeline.schedules[0].target, ir::CapturedSchedule::For::cpu);
  EXPECT_EQ(pipeline.schedules[1].target, ir::CapturedSchedule::For::cuda);
  EXPECT_EQ(pipeline.schedules[2].target, ir::CapturedSchedule::For::name);
  EXPECT_THAT(said(pipeline, 1), ElementsAre("f gpu_block x"));
  EXPECT_THAT(said(pipeline, 2), ElementsAre("f split x x x_i 16", "f vectorize x_i"));
  EXPECT_EQ(test::definitions(pipeline), "f[x] = 0.0");
}

TEST(Schedule, OfANameIsGivenOnce) {
  const unsigned line = __LINE__ + 2;
  const std::string message = refusal_of_pipeline([] {
    schedule("mine", [] {});
    schedule("mine", [] {});
  });
  EXPECT_THAT(message, HasSubstr(at_line(__FILE__, line + 1) + ": the schedule 'mine' is given twice, before at "));
  EXPECT_THAT(message, HasSubstr(at_line(__FILE__, line) + "; a pipeline has one of a name"));
  EXPECT_THAT(refusal_of_pipeline([] { schedule_cpu([] { schedule_cuda([] {}); }); }),
              HasSubstr("the schedule 'cuda' is inside of the schedule 'cpu' ("));
}

TEST(Schedule, DirectivesStandInSchedules) {
  const unsigned line = __LINE__ + 5;
  const std::string message = refusal_of_pipeline([] {
    Var x{"x"};
    Func f{"f"};
    f(x) = 0;
    f.parallel(x);
  });
  EXPECT_THAT(message, HasSubstr(at_line(__FILE__, line)));
  EXPECT_THAT(message, HasSubstr("parallel is called outside of a schedule; call it inside of schedule_cpu([&] { … }), "
                                 "schedule_cuda([&] { … }) or schedule(\"name\", [&] { … })"));
  EXPECT_THAT(refusal_of_schedule([](auto &f, auto &, const Var &, const Var &x, const Var &) {
                if_(Bool(true), [&] { f.parallel(x); });
              }),
              HasSubstr("parallel is called inside of an if_"));
  EXPECT_THAT(refusal_of_schedule([](auto &f, auto &, const Var &y, const Var &x, const Var &) { f(y, x) = 1; }),
              HasSubstr("the Func 'f' is defined inside of a schedule, which says how Funcs are computed"));
}

TEST(Schedule, FuncsAreScheduledBehindTheirDefinitions) {
  EXPECT_THAT(refusal_of_pipeline([] {
                Func f{"f"};
                schedule_cpu([&] { f.compute_root(); });
              }),
              HasSubstr("compute_root of the Func 'f', which has no definition so far; define Funcs before they are "
                        "scheduled"));
  EXPECT_THAT(refusal_of_schedule([](auto &f, auto &, const Var &, const Var &x, const Var &) {
                Func h{"h"};
                f.compute_at(h, x);
              }),
              HasSubstr("compute_at of the Func 'h', which has no definition"));
  EXPECT_THAT(refusal_of_schedule([](auto &, auto &g, const Var &, const Var &, const Var &) { g.update(1); }),
              HasSubstr("update(1) of the Func 'g', which has 1 update so far; they are counted from 0"));
}

TEST(Schedule, AFuncOfAScheduleIsThatOnesAlone) {
  EXPECT_THAT(refusal_of_pipeline([] {
                Var x{"x"};
                Func f{"f"};
                f(x) = 0;
                std::optional<Stage> copy;
                schedule_cpu([&] { copy.emplace(f.in()); });
                schedule_cuda([&] { copy->compute_root(); });
              }),
              HasSubstr("compute_root of the Func 'f_in', which the schedule 'cpu' alone has"));
}

TEST(Schedule, WhatIsAboutAFuncIsNotAskedForOfAnUpdate) {
  EXPECT_THAT(
      refusal_of_schedule([](auto &, auto &g, const Var &, const Var &, const Var &) { g.update().compute_root(); }),
      HasSubstr("compute_root of update(0) of the Func 'g': it is about the Func as a whole; call it on the Func "
                "itself"));
  EXPECT_THAT(refusal_of_schedule([](auto &f, auto &, const Var &, const Var &, const Var &) {
                f.specialize(Bool(true)).store_root();
              }),
              HasSubstr("store_root of a specialization of the Func 'f'"));
  EXPECT_THAT(refusal_of_schedule([](auto &, auto &g, const Var &, const Var &, const Var &) { g.rfactor("k", "u"); }),
              HasSubstr("rfactor of the Func 'g' itself; it is of an update"));
}

TEST(Schedule, NumbersAreSensible) {
  EXPECT_THAT(refusal_of_schedule([](auto &f, auto &, const Var &, const Var &x, const Var &) { f.vectorize(x, 0); }),
              HasSubstr("split: the factor is 0, but is at least 1"));
  EXPECT_THAT(refusal_of_schedule([](auto &f, auto &, const Var &, const Var &x, const Var &) { f.pad(x, -1); }),
              HasSubstr("pad: the number of elements is -1, but is at least 0"));
  EXPECT_THAT(refusal_of_schedule([](auto &f, auto &, const Var &, const Var &, const Var &) { f.pipelined(0); }),
              HasSubstr("pipelined: the number of stages is 0, but is at least 1"));
}

TEST(Schedule, ASpecializationAsksForWhatIsKnownBefore) {
  EXPECT_THAT(refusal_of_schedule([](auto &f, auto &, const Var &, const Var &x, const Var &) { f.specialize(x > 0); }),
              HasSubstr("specialize: the condition depends on the variable 'x', but chooses between loops before they "
                        "run: ask for parameters and extents"));
}

}  // namespace
}  // namespace samite
