// Loops that multiply windows by tiles of the block: the result of each pass, and that the plan computes the same as
// the structured form, whichever thread runs first.
#include "samite/base/error.h"
#include "samite/passes/simplify/rewrite.h"
#include "samite/passes/sm90/assign_roles.h"
#include "samite/passes/sm90/product_loops.h"
#include "samite/passes/sm90/take_turns.h"
#include "samite/passes/tiles/place_tiles.h"
#include "samite/passes/tiles/plan_tile_memory.h"
#include "tests/passes/product_steps_kernel.h"

#include <gmock/gmock.h>

namespace samite::passes {
namespace {

using namespace test::product_steps;
using test::product_loops::expect_runs_as;
using test::product_loops::good;
using test::product_loops::lowered;
using test::product_loops::structured;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(ProductSteps, EachProductHasARingForItsWindows) {
  const ir::Kernel kernel = product_loops(lowered(kernel_text(steps)), gpu_architecture(90), FactsOfArrays(8, good));
  ir::verify(kernel, ir::Form::lowered, "product_loops");
  EXPECT_TRUE(has_product_steps(kernel));
  const std::vector<ir::WindowProduct> products = steps_of(kernel);
  ASSERT_EQ(products.size(), 2u);
  EXPECT_NE(products[0].second.ring.array, products[1].second.ring.array);
  const std::vector<TensorMapNeeded> maps = tensor_maps(kernel);
  ASSERT_EQ(maps.size(), 2u);
  EXPECT_EQ(maps[0], (TensorMapNeeded{1, ScalarType::Float16, 2, 64, 64}));
  EXPECT_EQ(maps[1], (TensorMapNeeded{2, ScalarType::Float16, 2, 64, 64}));
  const std::string text = ir::to_string(steps_planned(kernel_text(steps)));
  EXPECT_EQ(ir::to_string(ir::parse_kernel(text)), text);
}

// Later passes read it: the products, in order, and their operands.
TEST(ProductSteps, TheLoopKeepsItsDeclaration) {
  const ir::Kernel kernel = product_loops(lowered(kernel_text(steps)), gpu_architecture(90), FactsOfArrays(8, good));
  const std::vector<ir::WindowProduct> products = steps_of(kernel);
  ASSERT_EQ(products.size(), 2u);
  std::vector<ir::LoopProduct> declared;
  for (const ir::For &loop : test::all<ir::For>(kernel))
    for (const ir::LoopProduct &product : loop.products.declared) declared.push_back(product);
  ASSERT_EQ(declared.size(), 2u);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(declared[i].result, products[i].result.array);
    EXPECT_EQ(declared[i].factors[0].tile, products[i].first.array);
    EXPECT_EQ(declared[i].factors[1].tile, products[i].second.ring.array);
    EXPECT_EQ(declared[i].factors[1].window, products[i].second.ring.array);
    EXPECT_EQ(declared[i].from_zero, i == 0);
  }
  std::string other = ir::to_string(kernel);
  const std::string first = "products and_more ($" + std::to_string(declared[0].result);
  other.replace(other.find(first), first.size(), "products and_more ($" + std::to_string(declared[1].result));
  EXPECT_THROW(ir::verify(ir::parse_kernel(other), ir::Form::lowered, "the test"), InternalError);
}

TEST(ProductSteps, AreReported) {
  const auto ways =
      ways_of_products(product_loops(lowered(kernel_text(steps)), gpu_architecture(90), FactsOfArrays(8, good)));
  ASSERT_EQ(ways.size(), 2u);
  for (const WayOfProduct &way : ways) EXPECT_EQ(way.why_not, "");
}

// All or none: otherwise the copying threads would have to wait for a product.
TEST(ProductSteps, NotWhereOneOfTheProductsIsNotSo) {
  const auto none = [](const std::string &text, const FactsOfArrays &facts = FactsOfArrays(8, good)) {
    return steps_of(product_loops(lowered(text), gpu_architecture(90), facts)).empty();
  };
  EXPECT_FALSE(none(kernel_text(steps)));
  FactsOfArrays facts(8, good);
  facts[2].has_tensor_map = false;
  EXPECT_TRUE(none(kernel_text(steps), facts));
  StepShape one_stage = steps;
  one_stage.stages = 1;
  EXPECT_TRUE(none(kernel_text(one_stage))) << "it is not pipelined";
  StepShape narrow = steps;
  narrow.keys = 32;
  EXPECT_TRUE(none(kernel_text(narrow))) << "weights of 64 bytes a row";
  // The window is read by something else as well.
  std::string twice = kernel_text(steps);
  twice.replace(twice.find("%21: "), 5, "%40: tile<f16, 1, 128> = reduce_max %29 %21: ");
  const std::size_t load = twice.find("%29: tile");
  const std::string moved = twice.substr(load, twice.find("%22: ", load) - load);
  twice.erase(load, moved.size());
  twice.insert(twice.find("%8: i32 = mul") + std::string("%8: i32 = mul %3, 64 ").size(), moved);
  EXPECT_TRUE(none(twice));
  for (const int architecture : {80, 89, 100})
    EXPECT_TRUE(steps_of(steps_planned(kernel_text(steps), architecture)).empty()) << architecture;
}

// A factor computed from sums stays in registers, and so do values of each row; no thread waits for another.
TEST(ProductSteps, NothingOfAnIterationIsInSharedMemory) {
  const ir::Kernel plan = steps_planned(kernel_text(steps));
  EXPECT_EQ(plan.roles.producers, 128);
  const std::string memory = test::memory(plan);
  EXPECT_THAT(memory, HasSubstr("registers f16[8192] fragments(group_matrices, 128, 64, 2, 1)"));
  EXPECT_THAT(memory, HasSubstr("registers f32[128] fragments(group_rows, 128, 1, 2, 1)"));
  EXPECT_THAT(memory, HasSubstr("shared f16[16384] panels(128, 128)\n"));
  EXPECT_THAT(memory, Not(HasSubstr("shared f32")));
  for (const ir::For &loop : test::all<ir::For>(plan)) {
    if (loop.kind != ir::LoopKind::Serial) continue;
    for (const ir::Stmt &stmt : loop.body) EXPECT_FALSE(stmt.as<ir::Barrier>());
  }
}

// Values in shared memory that change from iteration to iteration are not written while they are read.
TEST(ProductSteps, AFactorInSharedMemoryHasBarriers) {
  StepShape other = steps;
  other.of_weights = false;
  const ir::Kernel plan = steps_planned(kernel_text(other));
  EXPECT_EQ(plan.roles.producers, 128);
  EXPECT_THAT(test::memory(plan), HasSubstr("shared f16[8192] panels(128, 64)\n"));
  const auto missing = [](const ir::Kernel &kernel) {
    return unsynchronised(kernel, shares_memory(FactsOfArrays(8, good))).missing;
  };
  EXPECT_THAT(missing(plan), ::testing::IsEmpty());
  int barriers = 0;
  for (const ir::For &loop : test::all<ir::For>(plan)) {
    if (loop.kind != ir::LoopKind::Serial) continue;
    ir::for_each_statement(loop.body, [&](const ir::Stmt &stmt) { barriers += stmt.as<ir::Barrier>() != nullptr; });
  }
  EXPECT_GE(barriers, 2);
  EXPECT_EQ(groups_in_turns(plan), 0) << "all groups meet at these";
  ir::Kernel without = plan;
  without.body = rewrite(plan.body, [](const ir::Stmt &stmt, ir::Block &made) {
    if (!stmt.as<ir::Barrier>()) made.push_back(stmt);
  });
  EXPECT_THAT(missing(without), Not(::testing::IsEmpty()));
}

// Values of rows that threads have several times are added to an array once: there they stay in memory.
TEST(ProductSteps, WhatIsAddedToAnArrayIsMadeOnce) {
  std::string text = kernel_text(steps);
  text.replace(text.find("store @sums[%1, 0] ="), 20, "accumulate @sums[%1, 0] +=");
  const std::string memory = test::memory(steps_planned(text));
  EXPECT_THAT(memory, HasSubstr("shared f32[128]"));
  EXPECT_THAT(memory, Not(HasSubstr("group_rows"))) << "and so does what is computed with them";
}

void expect_steps_as_structured(const StepShape &s, std::int64_t rows, std::int64_t terms, std::int64_t n,
                                std::vector<test::ThreadOrder::Kind> orders = {test::ThreadOrder::Kind::Random}) {
  SCOPED_TRACE(testing::PrintToString(s));
  const std::string text = kernel_text(s);
  const ir::Kernel plan = steps_planned(text);
  ASSERT_EQ(steps_of(plan).size(), s.of_both ? 3u : 2u);
  EXPECT_TRUE(unsynchronised(plan, shares_memory(FactsOfArrays(8, good))).missing.empty());
  expect_runs_as(plan, structured(text), (rows + s.queries - 1) / s.queries, arguments(s, rows, terms, n), {4, 5},
                 orders);
}

// Windows that reach beyond the arrays, no window, fewer than stages, more; one to three groups of warps.
TEST(ProductSteps, DoWhatTheStructuredFormDoes) {
  using Kind = test::ThreadOrder::Kind;
  expect_steps_as_structured(steps, 120, 150, 3, {Kind::FirstToLast, Kind::LastToFirst});
  expect_steps_as_structured(steps, 128, 100, 0);
  expect_steps_as_structured({.queries = 64, .keys = 64, .size = 128, .threads = 128, .stages = 4, .type = "bf16"}, 100,
                             70, 2);
  expect_steps_as_structured({.queries = 192, .keys = 64, .size = 64, .threads = 384, .stages = 4}, 190, 70, 1);
  expect_steps_as_structured({.queries = 128, .keys = 64, .size = 128, .of_weights = false}, 120, 100, 2);
  expect_steps_as_structured(with_both, 120, 150, 3, {Kind::FirstToLast, Kind::LastToFirst});
}

// Values that an iteration loads for its elements have stages of their own, which are released before the products
// start.
TEST(ProductSteps, NumbersComeByCopies) {
  using Kind = test::ThreadOrder::Kind;
  const StepShape numbers{.queries = 128, .keys = 64, .size = 128, .numbers = true};
  const ir::Kernel plan = steps_planned(kernel_text(numbers));
  EXPECT_EQ(plan.roles.producers, 128);
  const auto brought = test::all<ir::BringWindows>(plan);
  ASSERT_EQ(brought.size(), 1u);
  ASSERT_EQ(brought[0].windows.size(), 1u);
  EXPECT_TRUE(brought[0].windows[0].values);
  const std::string text = ir::to_string(plan);
  EXPECT_LT(text.find("release_windows"), text.find("window_product"));
  EXPECT_EQ(ir::to_string(ir::parse_kernel(text)), text);
  for (const ir::For &loop : test::all<ir::For>(plan)) {
    if (loop.kind != ir::LoopKind::Serial) continue;
    for (const ir::Stmt &stmt : loop.body) EXPECT_FALSE(stmt.as<ir::Barrier>());
  }
  expect_steps_as_structured(numbers, 120, 150, 3, {Kind::FirstToLast, Kind::LastToFirst, Kind::Random});
  expect_steps_as_structured(numbers, 128, 100, 0);
}

TEST(ProductSteps, ProductsOfOneWindowShareItsRing) {
  const ir::Kernel plan = steps_planned(kernel_text(with_both));
  const std::vector<ir::WindowProduct> products = steps_of(plan);
  ASSERT_EQ(products.size(), 3u);
  EXPECT_TRUE(products[1].keeps_window && !products[1].has_window && products[2].has_window &&
              !products[2].keeps_window);
  EXPECT_FALSE(products[0].keeps_window || products[0].has_window);
  EXPECT_EQ(products[1].second.ring.array, products[2].second.ring.array);
  EXPECT_EQ(products[1].barriers.array, products[2].barriers.array);
  int copies = 0;
  for_each_statement(plan.roles.producing,
                     [&](const ir::Stmt &stmt) { copies += stmt.as<ir::WindowProduct>() != nullptr; });
  EXPECT_EQ(copies, 2) << "of the windows of k and of v";
  const std::string text = ir::to_string(plan);
  EXPECT_EQ(ir::to_string(ir::parse_kernel(text)), text);
  for (const std::string_view word : {" keeps_window", " has_window"}) {
    std::string without = text;
    without.replace(without.find(word), word.size(), "");
    EXPECT_THROW(ir::verify(ir::parse_kernel(without), ir::Form::lowered, "the test"), InternalError) << word;
  }
}

}  // namespace
}  // namespace samite::passes
