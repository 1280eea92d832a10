// How threads run loops over elements of tiles: what they access together, where bounds are checked, what runs for
// rows.
#include "samite/passes/tiles/plan_element_loops.h"

#include "samite/base/error.h"
#include "samite/jit/steps.h"
#include "samite/passes/analysis/grouped_elements.h"
#include "tests/passes/lowered_block.h"

#include <gmock/gmock.h>

namespace samite::passes::plan_element_loops_test {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using GroupKind = ir::ElementPlan::Group::Kind;

const ArrayFacts dense_rows{.unit_stride = true, .unaliased = true, .aligned_rows = true};
constexpr ArrayFacts whole_units{.unit_stride = true, .unaliased = true, .aligned_rows = true, .row_divisor = 8};

ir::Kernel with_plan(const std::string &body, const ArrayFacts &facts = dense_rows, bool debug = false) {
  ir::Kernel kernel =
      jit::plan(test::lowered_block(body), {gpu_architecture(90), FactsOfArrays(4, facts), {.debug = debug}});
  ir::verify(kernel, ir::Form::lowered, "plan");
  const std::string text = ir::to_string(kernel);
  EXPECT_EQ(ir::to_string(ir::parse_kernel(text)), text);
  return kernel;
}
// A product of f16 whose sums are in registers, and what is done with them.
std::string product_then(const std::string &then) {
  return "%1: tile<f16, 64, 16> = load @h[0, 0] %2: tile<f16, 16, 64> = load @h[0, 0] "
         "%3: tile<f32, 64, 64> = matmul %1, %2, 0.0:tile<f32, 64, 64> " +
         then;
}
// The plan of the last loop that has one.
ir::ElementPlan last_plan(const ir::Kernel &kernel) {
  ir::ElementPlan found;
  for (const ir::For &loop : test::all<ir::For>(kernel))
    if (!loop.elements.is_default()) found = loop.elements;
  return found;
}

TEST(PlanElementLoops, SumsAreStoredTogetherAndRotateAtTheEdges) {
  const ir::ElementPlan plan = last_plan(with_plan(product_then("store @x[@n, 8] = %3")));
  ASSERT_THAT(plan.groups, SizeIs(1));
  EXPECT_EQ(plan.groups[0].kind, GroupKind::store);
  EXPECT_EQ(plan.groups[0].array, 0u);
  EXPECT_THAT(plan.groups[0].along_rows.value(), ElementsAre(0u));
  EXPECT_EQ(plan.corners, 2);
  EXPECT_EQ(plan.rotates, 8) << "64 registers, which move eight times";
  EXPECT_FALSE(plan.in_packs);
}

TEST(PlanElementLoops, ValuesOfRowsRunOnceForEachRow) {
  const std::string scaled =
      "%4: tile<f32, 64, 1> = load @y[0, 0] %5: tile<f32, 64, 64> = broadcast %4 %6: tile<f32, 64, 64> = mul %3, %5 "
      "store @x[0, 0] = %6";
  bool found = false;
  for (const ir::For &loop : test::all<ir::For>(with_plan(product_then(scaled), {.unit_stride = false})))
    found = found || loop.elements.by_rows;
  for (const ir::For &loop :
       test::all<ir::For>(with_plan(product_then(scaled), {.unit_stride = false}, /*debug=*/true)))
    EXPECT_FALSE(loop.elements.by_rows) << "debug mode checks each access";
  EXPECT_TRUE(found || last_plan(with_plan(product_then(scaled))).rotates != 0);
}

TEST(PlanElementLoops, LoopsOverMemoryAreInterleaved) {
  const ir::ElementPlan plan = last_plan(with_plan(
      "%1: tile<f32, 64, 64> = load @x[0, 0] %2: tile<f32, 64, 64> = transpose(1, 0) %1 store @y[0, 0] = %2"));
  EXPECT_THAT(plan.groups, IsEmpty());
  EXPECT_GT(plan.interleaved, 0);
  EXPECT_EQ(plan.corners, 0);
}

TEST(PlanElementLoops, DebugModeKeepsEachAccess) {
  EXPECT_THAT(last_plan(with_plan(product_then("store @x[@n, 8] = %3"), dense_rows, /*debug=*/true)).groups, IsEmpty());
}

// The emitter gets from the plan what the analysis had found.
TEST(PlanElementLoops, ThePlanSaysWhatIsGrouped) {
  const ir::Kernel kernel = with_plan(product_then("store @x[@n, 8] = %3"), whole_units);
  int loops = 0;
  for (const ir::For &loop : test::all<ir::For>(kernel)) {
    if (loop.elements.groups.empty()) continue;
    ++loops;
    const GroupedElements grouped = planned_groups(loop);
    ASSERT_THAT(grouped.stores, SizeIs(1));
    EXPECT_EQ(grouped.stores[0].in_units, loop.elements.groups[0].in_units);
    EXPECT_EQ(grouped.bounds.size(), loop.elements.bounds.size());
    EXPECT_EQ(grouped.rotates, loop.elements.rotates != 0);
    EXPECT_FALSE(grouped.places.empty());
  }
  EXPECT_EQ(loops, 1);
}

TEST(PlanElementLoops, WhatTheLoopDoesNotHaveIsFound) {
  const std::string text = ir::to_string(with_plan(product_then("store @x[@n, 8] = %3")));
  const auto expect_found = [&](const std::string &from, const std::string &to) {
    std::string changed = text;
    ASSERT_NE(changed.find(from), changed.npos) << from << '\n' << text;
    changed.replace(changed.find(from), from.size(), to);
    EXPECT_THROW(ir::verify(ir::parse_kernel(changed), ir::Form::lowered, "the test"), InternalError) << changed;
  };
  expect_found("(store @x", "(store @y");
  expect_found("(store @x", "(add @x");
  expect_found("corners 2", "corners 3");
  expect_found("corners 2 ", "");
}

}  // namespace
}  // namespace samite::passes::plan_element_loops_test
