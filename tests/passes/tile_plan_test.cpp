// Which plans are obeyed, and the reason and the nearest plan where one is refused: each field, in the IR.
#include "samite/ir/tile_plan.h"

#include "samite/base/error.h"
#include "samite/jit/pipeline.h"
#include "samite/passes/analysis/plan_refused.h"
#include "samite/passes/tiles/planned_tile.h"
#include "tests/passes/product_loop_kernel.h"

#include <gmock/gmock.h>

namespace samite::passes {
namespace {

using namespace test::product_loops;
using ::testing::AllOf;
using ::testing::HasSubstr;

// Block (i, j) multiplies rows i of a with columns j of b.
std::string product_of(std::int64_t rows, std::int64_t columns, int threads, int stages,
                       const std::string &type = "f16") {
  return fmt::format(
      "kernel @k(@a: array<const {0}, 2>, @b: array<const {0}, 2>, @c: array<f32, 2>, @n: i32) blocks 2 of {3} {{ %0: "
      "i32 = thread_index 0 %1: i32 = thread_index 1 %2: i32 = mul %0, {1} %3: i32 = mul %1, {2} for %4: i32 in 0 .. "
      "@n step 1 stages {4} carry (%5 -> %6: tile<f32, {1}, {2}> = 0.0:tile<f32, {1}, {2}> then %10) {{ %7: i32 = mul "
      "%4, {5} %8: tile<{0}, {1}, {5}> = load @a[%2, %7] %9: tile<{0}, {2}, {5}> = load @b[%3, %7] %10: tile<f32, {1}, "
      "{2}> = matmul %8, transposed %9, %5 }} store @c[%2, %3] = %6 }}",
      type, rows, columns, threads, stages, type == "f16" ? 64 : 128);
}
const std::string of_one_group = product_of(128, 128, 128, 6), of_two_groups = product_of(128, 256, 256, 4);

struct Launch {
  bool in_rounds = false;
  std::uint64_t paired = 0;
  std::int64_t step_parts = 1;
  int capability = 90;
};

ir::Kernel planned(const std::string &text, const TilePlan &plan, const Launch &launch = {}) {
  const Architecture &gpu = gpu_architecture(launch.capability);
  ir::Kernel kernel = structured(text);
  kernel.plan = plan;
  kernel = lower_threads(lower_tiles(with_planned_stages(std::move(kernel)), gpu));
  kernel = jit::plan(std::move(kernel),
                     {gpu,
                      FactsOfArrays(6, good),
                      {.in_rounds = launch.in_rounds, .paired = launch.paired, .step_parts = launch.step_parts}});
  ir::verify(kernel, ir::Form::lowered, "plan");
  const std::string printed = ir::to_string(kernel);
  EXPECT_EQ(ir::to_string(ir::parse_kernel(printed)), printed);
  return kernel;
}

struct Refused {
  std::string message;
  TilePlan nearest;
};
// The refusal of a plan, whose nearest plan is obeyed.
Refused refused(const std::string &text, const TilePlan &plan, const Launch &launch = {}) {
  try {
    planned(text, plan, launch);
    return {"obeyed", {}};
  } catch (const PlanRefused &refusal) {
    EXPECT_THAT(refusal.what(), HasSubstr("kernel 'k': its plan asks for "));
    EXPECT_EQ(with(planned(text, refusal.nearest(), launch).plan, refusal.nearest()),
              planned(text, refusal.nearest(), launch).plan);
    return {refusal.what(), refusal.nearest()};
  }
}

TEST(TilePlan, OfAPlannedKernelIsWhole) {
  EXPECT_EQ(planned(of_two_groups, {}, {.in_rounds = true, .paired = 3}).plan, (TilePlan{.rows = 128,
                                                                                         .columns = 256,
                                                                                         .inner = 64,
                                                                                         .threads = 256,
                                                                                         .stages = 4,
                                                                                         .teams = 1,
                                                                                         .cluster_blocks = 2,
                                                                                         .cluster_dimension = 0,
                                                                                         .shared_factors = 2,
                                                                                         .parts = 1,
                                                                                         .strip_columns = 8}));
  const ir::Kernel in_parts = planned(of_one_group, {}, {.step_parts = 4});
  EXPECT_EQ(in_parts.plan.parts, 4);
  EXPECT_EQ(in_parts.plan.parts_in_cluster, 1);
  EXPECT_EQ(in_parts.plan.cluster_blocks, 1);
}

TEST(TilePlan, TeamsAreFormedInAnyLaunchOrInNone) {
  EXPECT_EQ(planned(of_one_group, {.teams = 2}).roles.teams, 2) << "of one wave";
  EXPECT_EQ(planned(of_one_group, {}).roles.teams, 0);
  EXPECT_EQ(planned(of_one_group, {.teams = 1}, {.in_rounds = true}).roles.teams, 0);
  EXPECT_EQ(planned(of_one_group, {}, {.in_rounds = true}).roles.teams, 2);
}

TEST(TilePlan, TeamsThatCannotBeAreRefused) {
  const Refused wide = refused(of_two_groups, {.teams = 2});
  EXPECT_THAT(wide.message, AllOf(HasSubstr("asks for teams 2, but a block has 256 threads, and a team is one warp "
                                            "group of 128"),
                                  HasSubstr("the nearest plan that holds is (teams 1)")));
  EXPECT_EQ(wide.nearest, TilePlan{.teams = 1});
  EXPECT_THAT(refused(of_one_group, {.teams = 2}, {.capability = 80}).message,
              HasSubstr("compute capability 8.0 has no warp groups"));
  const ProductShape limited{.rows = 128, .columns = 128, .inner = 64, .stages = 6, .limited = true};
  EXPECT_THAT(refused(kernel_text(limited), {.teams = 2}).message, HasSubstr("one main loop that only multiplies"));
  EXPECT_THAT(refused(product_of(128, 128, 128, 3), {.teams = 2}).message, HasSubstr("no producer warps"));
  std::string stores = of_one_group;
  stores.insert(stores.find("store @c"),
                "%13: tile<f32, 128, 128> = mul %6, %6 %14: tile<f32, 128, 128> = transpose(1, 0) %13 ");
  stores.replace(stores.rfind("= %6"), 4, "= %14");
  EXPECT_THAT(refused(stores, {.stages = 4, .teams = 2}).message, HasSubstr("no room for the tiles of two teams"));
  const Refused parts = refused(of_one_group, {.teams = 2, .parts = 4, .parts_in_cluster = 1}, {.step_parts = 4});
  EXPECT_THAT(parts.message, HasSubstr("the 4 blocks of a cluster share the steps of its main loop"));
  EXPECT_EQ(parts.nearest, (TilePlan{.teams = 1, .parts = 4, .parts_in_cluster = 1}));
}

TEST(TilePlan, ClustersShareTheFactorsThatAreAskedFor) {
  const Launch pairs{.paired = 3};
  ir::Kernel kernel = planned(of_two_groups, {.cluster_blocks = 2}, pairs);
  EXPECT_EQ(kernel.grid.cluster_blocks, 2);
  EXPECT_EQ(kernel.grid.cluster_dimension, 0) << "the larger window is shared";
  kernel = planned(of_two_groups, {.cluster_blocks = 2, .cluster_dimension = 1}, pairs);
  EXPECT_EQ(kernel.grid.cluster_dimension, 1);
  EXPECT_EQ(kernel.plan.shared_factors, 1);
  EXPECT_EQ(planned(of_two_groups, {.cluster_blocks = 2, .shared_factors = 1}, pairs).grid.cluster_dimension, 1);
  EXPECT_EQ(planned(of_two_groups, {.cluster_blocks = 1}, {.in_rounds = true, .paired = 3}).grid.cluster_blocks, 0);
  const std::string of_8_bits = product_of(128, 256, 256, 4, "f8e4m3");
  EXPECT_EQ(planned(of_8_bits, {}, {.in_rounds = true, .paired = 3}).grid.cluster_blocks, 0);
  EXPECT_EQ(planned(of_8_bits, {.cluster_blocks = 2}, pairs).grid.cluster_blocks, 2);
}

TEST(TilePlan, ClustersThatCannotBeAreRefused) {
  const Launch pairs{.paired = 3};
  EXPECT_THAT(refused(of_two_groups, {.cluster_blocks = 2}).message,
              AllOf(HasSubstr("the launch has no pairs of blocks"), HasSubstr("(cluster_blocks 1)")));
  const Refused four = refused(of_two_groups, {.cluster_blocks = 4}, pairs);
  EXPECT_THAT(four.message, HasSubstr("asks for cluster_blocks 4, but windows are shared by pairs of blocks"));
  EXPECT_EQ(four.nearest, (TilePlan{.cluster_blocks = 2, .cluster_dimension = 0, .shared_factors = 2}));
  const Refused both = refused(of_two_groups, {.cluster_blocks = 2, .shared_factors = 3}, pairs);
  EXPECT_THAT(both.message, HasSubstr("no pairs of its blocks need the same windows"));
  EXPECT_EQ(both.nearest, (TilePlan{.cluster_blocks = 2, .cluster_dimension = 0, .shared_factors = 2}));
  const Refused across =
      refused(of_two_groups, {.cluster_blocks = 2, .cluster_dimension = 0, .shared_factors = 1}, pairs);
  EXPECT_EQ(across.nearest, (TilePlan{.cluster_blocks = 2, .cluster_dimension = 1, .shared_factors = 1}))
      << "with the same factors along the other dimension";
  EXPECT_THAT(refused(of_two_groups, {.cluster_blocks = 2}, {.paired = 3, .capability = 100}).message,
              HasSubstr("compute capability 10.0 has no warp groups"));
}

// A strip has whole pairs.
TEST(TilePlan, ClustersAreNotPartedByStrips) {
  const Launch pairs{.paired = 3};
  const TilePlan along_columns{.cluster_blocks = 2, .cluster_dimension = 1, .strip_columns = 2};
  const ir::Kernel kernel = planned(of_two_groups, along_columns, pairs);
  EXPECT_EQ(kernel.grid.cluster_dimension, 1);
  ir::Kernel wrong = kernel;
  wrong.grid.strip_columns = 1;
  EXPECT_THROW(ir::verify(wrong, ir::Form::lowered, "test"), InternalError);
  const Refused one = refused(of_two_groups, {.cluster_blocks = 2, .cluster_dimension = 1, .strip_columns = 1}, pairs);
  EXPECT_THAT(one.message, HasSubstr("strips of 1 columns end between the blocks of a pair"));
  EXPECT_EQ(one.nearest,
            (TilePlan{.cluster_blocks = 2, .cluster_dimension = 0, .shared_factors = 2, .strip_columns = 1}));
  EXPECT_EQ(planned(of_two_groups, {.cluster_blocks = 2, .strip_columns = 3}, pairs).grid.cluster_dimension, 0);
}

TEST(TilePlan, PartsThatBlocksOfAClusterCannotComputeAreRefused) {
  EXPECT_EQ(planned(of_one_group, {.parts = 4, .parts_in_cluster = 1}, {.step_parts = 4}).grid.step_parts, 4);
  std::string from_one = of_one_group;
  from_one.replace(from_one.find("= 0.0:"), 6, "= 1.0:");
  const Refused refusal = refused(from_one, {.parts = 4, .parts_in_cluster = 1}, {.step_parts = 4});
  EXPECT_THAT(refusal.message, AllOf(HasSubstr("asks for parts 4 in a cluster"), HasSubstr("sums that start at zero")));
  EXPECT_EQ(refusal.nearest, (TilePlan{.parts = 4, .parts_in_cluster = 0}));
}

TEST(TilePlan, BlocksAreInTheStripsThatAreAskedFor) {
  EXPECT_EQ(planned(of_two_groups, {.strip_columns = 4}).grid.strip_columns, 4);
  EXPECT_EQ(planned(of_two_groups, {.strip_columns = 0}).grid.strip_columns, 0);
  const ProductShape over_one{.rows = 64, .columns = 64, .inner = 64};
  const Refused refusal = refused(kernel_text(over_one), {.strip_columns = 4});
  EXPECT_THAT(refusal.message, HasSubstr("asks for strip_columns 4, but its launch has one dimension"));
  EXPECT_EQ(refusal.nearest, TilePlan{.strip_columns = 0});
}

TEST(TilePlan, LoopsHaveTheStagesThatAreAskedFor) {
  for (const int stages : {2, 3, 4}) {
    const ir::Kernel kernel = planned(of_two_groups, {.stages = stages});
    EXPECT_EQ(kernel.plan.stages, stages);
    ASSERT_EQ(test::all<ir::MainLoop>(kernel).size(), 1u);
    EXPECT_EQ(test::all<ir::MainLoop>(kernel)[0].barriers->type.count(), 2 * stages);
  }
  std::string not_declared = of_two_groups;
  not_declared.replace(not_declared.find("stages 4 "), 9, "");
  EXPECT_EQ(planned(not_declared, {.stages = 3}).plan.stages, 3);
  EXPECT_TRUE(test::all<ir::MainLoop>(planned(of_two_groups, {.stages = 1})).empty()) << "nothing is prefetched";
  std::string by_threads = product_of(128, 128, 256, 3);
  EXPECT_EQ(planned(by_threads, {.stages = 4}, {.capability = 80}).plan.stages, 4);
}

TEST(TilePlan, StagesWithoutRoomAreRefused) {
  const Refused refusal = refused(of_two_groups, {.stages = 6});
  EXPECT_THAT(refusal.message, HasSubstr("asks for stages 6, but a block's shared memory has room for 4"));
  EXPECT_EQ(refusal.nearest, TilePlan{.stages = 4});
  const Refused by_threads = refused(product_of(128, 128, 256, 3), {.stages = 16}, {.capability = 80});
  EXPECT_THAT(by_threads.message, HasSubstr("the kernel's tiles then take"));
  ASSERT_TRUE(by_threads.nearest.stages);
  EXPECT_GT(*by_threads.nearest.stages, 1);
  const Refused none = refused(
      "kernel @k(@a: array<const f32, 1>, @b: array<f32, 1>, @c: array<f32, 1>, @n: i32) blocks 1 of 64 { %0: i32 = "
      "thread_index 0 %1: tile<f32, 64> = load @a[%0] store @b[%0] = %1 }",
      {.stages = 3});
  EXPECT_THAT(none.message, HasSubstr("no loop of it multiplies"));
  EXPECT_EQ(none.nearest, TilePlan());
}

TEST(TilePlan, TheTileIsThatOfTheKernelsCode) {
  const TilePlan own{.rows = 128, .columns = 256, .inner = 64, .threads = 256};
  EXPECT_EQ(planned(of_two_groups, own).plan.columns, 256);
  const Refused refusal = refused(of_two_groups, {.columns = 128, .threads = 128});
  EXPECT_THAT(refusal.message, AllOf(HasSubstr("asks for columns 128, threads 128"),
                                     HasSubstr("the kernel's code has rows 128, columns 256, inner 64, threads 256")));
  EXPECT_EQ(refusal.nearest, own);
}

// Both are refused, one after the other.
TEST(TilePlan, TheNearestPlanHoldsForAllSteps) {
  const Refused refusal = refused(of_two_groups, {.stages = 6, .teams = 2, .cluster_blocks = 2});
  EXPECT_THAT(refusal.message, HasSubstr("asks for stages 6"));
  EXPECT_EQ(refusal.nearest, (TilePlan{.stages = 4, .teams = 1, .cluster_blocks = 1}));
}

TEST(TilePlan, LaterBlocksWindowsArePrefetchedAsAskedFor) {
  const auto rows = [](const TilePlan &plan, const char *window = "@x[%0, 0]") {
    ir::Kernel kernel = test::lowered_block(fmt::format(
        "%1: tile<f32, 1, 2048> = load {} %2: f32 = reduce_max %1 %3: tile<f32, 1, 2048> = broadcast %2 %4: "
        "tile<f32, 1, 2048> = sub %1, %3 store @y[%0, 0] = %4",
        window));
    kernel.plan = plan;
    const FactsOfArrays dense(4, {.unit_stride = true, .unaliased = true, .aligned_rows = true});
    return jit::plan(std::move(kernel), {gpu_architecture(90), dense, {}});
  };
  EXPECT_EQ(rows({}).plan.blocks_ahead, 512) << "of 4 MB";
  const ir::Kernel near = rows({.blocks_ahead = 7});
  EXPECT_EQ(test::all<ir::Prefetch>(near).size(), 1u);
  EXPECT_THAT(ir::to_string(near), testing::ContainsRegex("%[0-9]+: i32 = add %[0-9]+, 7\n"));
  EXPECT_TRUE(test::all<ir::Prefetch>(rows({.blocks_ahead = 0})).empty());
  try {
    rows({.blocks_ahead = 7}, "@x[0, 0]");
    ADD_FAILURE() << "obeyed";
  } catch (const PlanRefused &refusal) {
    EXPECT_THAT(refusal.what(), AllOf(HasSubstr("asks for blocks_ahead 7, but a block loads no window"),
                                      HasSubstr("(blocks_ahead 0)")));
  }
}

// Also with fewer blocks than teams.
TEST(TilePlan, DoesNotChangeResults) {
  const ProductShape shape{.rows = 64, .columns = 64, .inner = 64, .stages = 8};
  const std::string text = kernel_text(shape);
  for (const TilePlan &plan : {TilePlan{.teams = 2}, TilePlan{.stages = 4}, TilePlan{.stages = 1}}) {
    ir::Kernel kernel = structured(text);
    kernel.plan = plan;
    kernel = lower_threads(lower_tiles(with_planned_stages(std::move(kernel)), gpu_architecture(90)));
    kernel = jit::plan(std::move(kernel), {gpu_architecture(90), FactsOfArrays(5, good), {}});
    expect_as_structured(shape, kernel, text, 64 * 5, 5, 0);
  }
}

}  // namespace
}  // namespace samite::passes
