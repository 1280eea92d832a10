// Loops with windows and values in stages: the passes' results, and that the plan computes the same as the structured
// form, whichever thread runs first.
#include "samite/passes/sm90/stage_steps.h"

#include "samite/base/error.h"
#include "samite/jit/pipeline.h"
#include "samite/passes/sm90/product_loops.h"
#include "tests/passes/stage_steps_kernel.h"

#include <gmock/gmock.h>

namespace samite::passes {
namespace {

using namespace test::stage_steps;
using test::product_loops::expect_runs_as;
using test::product_loops::good;
using test::product_loops::lowered;
using test::product_loops::structured;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

const StageShape usual{.rows = 128, .columns = 64, .inner = 64};

ir::Kernel with_stages(const std::string &text, const FactsOfArrays &facts = FactsOfArrays(6, good),
                       int architecture = 90) {
  ir::Kernel plan = jit::plan(lowered(text), {gpu_architecture(architecture), facts});
  ir::verify(plan, ir::Form::lowered, "plan");
  return plan;
}
std::vector<ir::BringWindows> brought(const ir::Kernel &kernel) { return test::all<ir::BringWindows>(kernel); }
std::vector<ir::StageProduct> products(const ir::Kernel &kernel) { return test::all<ir::StageProduct>(kernel); }

TEST(StageSteps, AnIterationWaitsOnceForAllItReads) {
  const ir::Kernel plan = with_stages(kernel_text(usual));
  EXPECT_EQ(plan.roles.producers, 128);
  ASSERT_EQ(brought(plan).size(), 1u);
  const ir::BringWindows bring = brought(plan)[0];
  ASSERT_EQ(bring.windows.size(), 6u) << "values of rows and of each part, a, and two of b";
  EXPECT_EQ(bring.barriers.type.count(), 8);
  const std::vector<ir::StageProduct> own = products(plan);
  ASSERT_EQ(own.size(), 2u);
  for (const ir::StageProduct &product : own) {
    EXPECT_TRUE(product.sets);
    EXPECT_EQ(product.result.array, own[0].result.array) << "one product is in registers at a time";
    EXPECT_EQ(product.factors[0].array, own[0].factors[0].array) << "one window of a";
  }
  EXPECT_EQ(test::all<ir::ReleaseWindows>(plan).size(), 1u);
  int copies = 0;
  ir::for_each_statement(plan.roles.producing,
                         [&](const ir::Stmt &stmt) { copies += stmt.as<ir::BringWindows>() != nullptr; });
  EXPECT_EQ(copies, 1);
  for (const ir::For &loop : test::all<ir::For>(plan)) {
    if (loop.kind != ir::LoopKind::Serial) continue;
    for (const ir::Stmt &stmt : loop.body) EXPECT_FALSE(stmt.as<ir::Barrier>());
  }
  const std::string text = ir::to_string(plan);
  EXPECT_EQ(ir::to_string(ir::parse_kernel(text)), text);
}

// Products without a common window are realised together, too: all windows of an iteration come to one stage.
TEST(StageSteps, OfProductsThatShareNoWindow) {
  StageShape apart = usual;
  apart.own_windows = true;
  const ir::Kernel plan = with_stages(kernel_text(apart));
  EXPECT_EQ(plan.roles.producers, 128);
  ASSERT_EQ(brought(plan).size(), 1u);
  EXPECT_EQ(brought(plan)[0].windows.size(), 7u) << "one of a more than if the products shared it";
  const std::vector<ir::StageProduct> own = products(plan);
  ASSERT_EQ(own.size(), 2u);
  EXPECT_NE(own[0].factors[0].array, own[1].factors[0].array);
  for (const WayOfProduct &way : ways_of_products(plan)) EXPECT_EQ(way.why_not, "");
}

// A thread of two groups would hold 128 registers of sums for each product.
TEST(StageSteps, NotOfProductsWhoseSumsNeedTooManyRegisters) {
  const auto realised = [](std::int64_t columns) {
    StageShape apart{.rows = 128, .columns = columns, .inner = 64, .stages = 2, .scaled = false, .own_windows = true};
    const ir::Kernel kernel = product_loops(lowered(kernel_text(apart)), gpu_architecture(90), FactsOfArrays(6, good));
    return products(kernel).size();
  };
  EXPECT_EQ(realised(128), 2u);
  EXPECT_EQ(realised(256), 0u);
}

// A box has 16 bytes of a row at least, from a multiple of 16 bytes on, and a stage is a multiple of 128 bytes.
TEST(StageSteps, BoxesOfValues) {
  const std::vector<TensorMapNeeded> maps = tensor_maps(with_stages(kernel_text(usual)));
  ASSERT_EQ(maps.size(), 4u);
  EXPECT_EQ(maps[0], (TensorMapNeeded{2, ScalarType::Float32, 2, 128, 4, true}));
  EXPECT_EQ(maps[1], (TensorMapNeeded{3, ScalarType::Float32, 2, 1, 32, true}));
  EXPECT_EQ(maps[2], (TensorMapNeeded{0, ScalarType::Float16, 2, 128, 64}));
  EXPECT_EQ(maps[3], (TensorMapNeeded{1, ScalarType::Float16, 2, 64, 64}));
  StageShape other = usual;
  other.of_columns = true;
  EXPECT_EQ(tensor_maps(with_stages(kernel_text(other)))[1], (TensorMapNeeded{3, ScalarType::Float32, 2, 1, 64, true}));
}

void expect_stages_as_structured(const StageShape &s, std::int64_t rows, std::int64_t terms, std::int64_t n,
                                 std::vector<test::ThreadOrder::Kind> orders = {test::ThreadOrder::Kind::Random}) {
  SCOPED_TRACE(testing::PrintToString(s));
  const std::string text = kernel_text(s);
  const ir::Kernel plan = with_stages(text);
  ASSERT_EQ(brought(plan).size(), 1u);
  EXPECT_EQ(plan.roles.producers, 128);
  EXPECT_THAT(unsynchronised(plan, shares_memory(FactsOfArrays(6, good))).missing, IsEmpty());
  expect_runs_as(plan, structured(text), (rows + s.rows - 1) / s.rows, arguments(s, rows, terms, n), {4}, orders);
}

// Windows and values that reach beyond the arrays; no window, fewer than stages, more; one to three parts and groups.
TEST(StageSteps, DoWhatTheStructuredFormDoes) {
  using Kind = test::ThreadOrder::Kind;
  expect_stages_as_structured(usual, 120, 250, 4, {Kind::FirstToLast, Kind::LastToFirst, Kind::Random});
  expect_stages_as_structured(usual, 128, 64, 0);
  expect_stages_as_structured({.rows = 128, .columns = 128, .inner = 64, .stages = 2, .type = "bf16"}, 130, 70, 1);
  expect_stages_as_structured({.rows = 64, .columns = 64, .inner = 64, .parts = 3, .threads = 128, .stages = 4}, 60,
                              130, 3);
  expect_stages_as_structured({.rows = 192, .columns = 64, .inner = 64, .parts = 1, .threads = 384, .stages = 4}, 190,
                              130, 3);
  expect_stages_as_structured({.rows = 128, .columns = 64, .inner = 64, .b_transposed = true, .of_columns = true}, 128,
                              250, 4);
  expect_stages_as_structured({.rows = 128, .columns = 64, .inner = 64, .scaled = false}, 120, 130, 3);
  expect_stages_as_structured({.rows = 128, .columns = 64, .inner = 64, .own_windows = true}, 120, 250, 4);
}

TEST(StageSteps, NotWhereCopiesCannotBringAFactor) {
  const auto none = [](const FactsOfArrays &facts, int architecture = 90) {
    return brought(with_stages(kernel_text(usual), facts, architecture)).empty();
  };
  EXPECT_FALSE(none(FactsOfArrays(6, good)));
  for (const int architecture : {80, 89, 100}) EXPECT_TRUE(none(FactsOfArrays(6, good), architecture)) << architecture;
  FactsOfArrays facts(6, good);
  facts[1].has_tensor_map = false;
  EXPECT_TRUE(none(facts));
}

// Values that bulk copies cannot load are loaded as before, in addition to the copied windows.
TEST(StageSteps, ValuesThatCopiesCannotBring) {
  FactsOfArrays facts(6, good);
  facts[2].aligned_rows = false;
  const ir::Kernel plan = with_stages(kernel_text(usual), facts);
  for (const ir::BringWindows &bring : brought(plan))
    for (const ir::BringWindows::Window &window : bring.windows) EXPECT_NE(window.array, 2u);
  expect_runs_as(plan, structured(kernel_text(usual)), 1, arguments(usual, 120, 130, 3), {4},
                 {test::ThreadOrder::Kind::Random});
}

// Each of these words is needed, and each statement must be where it is.
TEST(StageSteps, WhatIsMissingIsFound) {
  const ir::Kernel plan = with_stages(kernel_text(usual));
  const std::string text = ir::to_string(plan);
  const auto expect_found = [&](const std::string &changed) {
    ASSERT_NE(changed, text);
    EXPECT_THROW(ir::verify(ir::parse_kernel(changed), ir::Form::lowered, "the test"), InternalError) << changed;
  };
  const auto without_line = [&](std::string_view word) {
    const std::size_t at = text.find(word), begin = text.rfind('\n', at), end = text.find('\n', at);
    return text.substr(0, begin) + text.substr(end);
  };
  expect_found(without_line("release_windows"));
  expect_found(without_line("bring_windows consumers"));
  std::string moved = without_line("release_windows");
  const std::size_t release = text.find("release_windows"), end = text.find('\n', release);
  moved.insert(moved.find('\n', moved.find("bring_windows consumers")) + 1, text.substr(release, end - release) + "\n");
  expect_found(moved);
  std::string other = text;
  const std::size_t factor = other.find(", $", other.find("stage_product")) + 2;
  other.replace(factor, other.find(':', factor) - factor, "$" + std::to_string(products(plan)[0].result.array));
  expect_found(other);
}

}  // namespace
}  // namespace samite::passes
