// The table of steps, and the properties that steps record on a kernel.
#include "samite/jit/steps.h"

#include "samite/base/error.h"
#include "samite/ir/visit.h"
#include "tests/passes/lowered_block.h"
#include "tests/runtime/message_of.h"

#include <gmock/gmock.h>

#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

namespace samite::jit {
namespace {

using testing::HasSubstr;

const passes::FactsOfArrays apart(4, {.unit_stride = true, .unaliased = true, .aligned_rows = true});

PlanContext for_gpu(PlanChoices choices = {}) { return {passes::gpu_architecture(90), apart, choices}; }

ir::Kernel block() { return test::lowered_block(test::pipelined_product); }

// For any kernel, target and mode: each property that a step requires is established by an earlier step.
TEST(Steps, RequireWhatStepsBeforeThemEstablish) {
  for (const std::uint8_t kind : {Step::threads, Step::tiles, Step::scheduled})
    for (const std::uint8_t target : {Step::cpu, Step::gpu})
      for (const bool debug : {false, true}) {
        ir::Properties established;
        for (const Step &step : plan_steps()) {
          if ((step.kernels & kind) == 0 || (step.targets & target) == 0) continue;
          if (debug && step.when == Step::When::optimised) continue;
          EXPECT_TRUE(established.has_all(step.requirements))
              << step.name << " for kind " << int{kind} << " on target " << int{target};
          EXPECT_EQ(step.precedes.without(established), step.precedes)
              << step.name << " for kind " << int{kind} << " on target " << int{target};
          established = established.with(step.establishes);
        }
      }
}

TEST(Steps, HaveNamesOfTheirOwn) {
  std::set<std::string_view> names;
  for (const Step &step : plan_steps()) EXPECT_TRUE(names.insert(step.name).second) << step.name;
}

TEST(Steps, RecordWhatTheyEstablish) {
  const ir::Kernel planned = plan(block(), for_gpu());
  for (const ir::Property property : {ir::Property::tiles_placed, ir::Property::synchronised,
                                      ir::Property::loops_pipelined, ir::Property::memory_planned})
    EXPECT_TRUE(planned.properties.has(property)) << ir::name(property);
  EXPECT_FALSE(block().properties.has(ir::Property::plain_thread_loops));
}

TEST(Steps, WithoutTheirRequirementsAreInternalErrors) {
  const std::string message =
      message_of<InternalError>([] { run_steps(block(), for_gpu(), "insert_barriers", "pipeline_loops"); });
  EXPECT_THAT(message, HasSubstr("step insert_barriers requires tiles_placed, loads_staged, tiles_spread"));
}

TEST(Steps, ThatComeTooLateAreInternalErrors) {
  const ir::Kernel placed = run_steps(block(), for_gpu(), "plain_thread_loops", "place_tiles");
  const std::string message =
      message_of<InternalError>([&] { run_steps(placed, for_gpu(), "product_loops", "place_tiles"); });
  EXPECT_THAT(message, HasSubstr("step product_loops precedes tiles_placed, which a step before it has established"));
}

// Prose about the order is not checked, and drifts from the table.
TEST(Steps, StateTheirOrderInTheTableAlone) {
  namespace fs = std::filesystem;
  std::set<std::string> names;
  for (const Step &step : plan_steps()) names.insert(std::string(step.name) + ".h");
  int found = 0;
  for (const auto &entry : fs::recursive_directory_iterator(fs::path(SAMITE_SOURCE_DIR) / "samite/passes")) {
    if (!names.contains(entry.path().filename().string())) continue;
    ++found;
    std::stringstream text;
    text << std::ifstream(entry.path()).rdbuf();
    for (const char *words : {"Runs after", "Runs before", "runs after", "runs before"})
      EXPECT_EQ(text.str().find(words), std::string::npos) << entry.path() << ": " << words;
  }
  EXPECT_GT(found, 20);
}

TEST(Steps, TrialsNeedNoBarriers) {
  const ir::Kernel ready = run_steps(block(), for_gpu(), "plain_thread_loops", "split_zero_fills");
  PlanContext trial = for_gpu();
  trial.trial = true;
  const ir::Kernel tried = run_steps(ready, trial, "place_tiles", "pipeline_loops");
  EXPECT_FALSE(tried.properties.has(ir::Property::synchronised));
  EXPECT_TRUE(tried.properties.has(ir::Property::loops_pipelined));
}

// The promise of each property is checked: a kernel that breaks it is found.
TEST(VerifyProperties, FindsTilesWithoutAnOffset) {
  const ir::Kernel without = run_steps(block(), for_gpu({.debug = true}), "plain_thread_loops", "form_clusters");
  ir::verify_properties(without, "the test");
  ir::Kernel broken = without;
  broken.properties = broken.properties.with({ir::Property::memory_planned});
  EXPECT_THAT(message_of<InternalError>([&] { ir::verify_properties(broken, "the test"); }),
              HasSubstr("memory_planned: $"));
}

TEST(VerifyProperties, FindsLoopsThatStillRunAhead) {
  ir::Kernel staged = run_steps(block(), for_gpu({.debug = true}), "plain_thread_loops", "insert_barriers");
  ir::verify_properties(staged, "the test");
  staged.properties = staged.properties.with({ir::Property::loops_pipelined});
  EXPECT_THAT(message_of<InternalError>([&] { ir::verify_properties(staged, "the test"); }),
              HasSubstr("loops_pipelined: the loop over %"));
}

TEST(VerifyProperties, FindsThreadLoopsInsideOfOthers) {
  ir::Kernel nested = ir::parse_kernel(R"(kernel @k(@x: array<f32, 1>) threads 1 {
    for.thread %0: i32 in 0 .. 4 step 1 {
      for.thread %1: i32 in 0 .. 4 step 1 { store @x[%1] = 1.0 }
    }
  })");
  ir::verify_properties(nested, "the test");
  nested.properties = {ir::Property::plain_thread_loops};
  EXPECT_THAT(message_of<InternalError>([&] { ir::verify_properties(nested, "the test"); }),
              HasSubstr("plain_thread_loops: the loop over %1 is a thread loop inside of another"));
}

}  // namespace
}  // namespace samite::jit
