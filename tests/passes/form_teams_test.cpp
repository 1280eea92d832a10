// The kernels that have teams, which take blocks in turn, and each team's memory.
#include "samite/passes/sm90/form_teams.h"

#include "samite/base/error.h"
#include "samite/jit/pipeline.h"
#include "samite/passes/sm90/assign_roles.h"
#include "samite/passes/tiles/plan_tile_memory.h"
#include "tests/passes/product_loop_kernel.h"

#include <gmock/gmock.h>

namespace samite::passes {
namespace {

using namespace test::product_loops;
using ::testing::HasSubstr;

// Block (i, j) multiplies rows i of a by columns j of b, and each row of the result by a number. `after` follows the
// loop, whose sums are %6.
std::string scaled_text(std::int64_t columns = 128, int threads = 128, int stages = 6,
                        const std::string &steps = "@n") {
  return fmt::format(
      "kernel @k(@a: array<const f16, 2>, @b: array<const f16, 2>, @x: array<const f32, 2>, @c: array<f32, 2>, @n: "
      "i32) blocks 2 of {1} {{ %0: i32 = thread_index 0 %1: i32 = thread_index 1 %2: i32 = mul %0, 128 %3: i32 = mul "
      "%1, {0} for %4: i32 in 0 .. {3} step 1 stages {2} carry (%5 -> %6: tile<f32, 128, {0}> = 0.0:tile<f32, 128, "
      "{0}> then %10) {{ %7: i32 = mul %4, 64 %8: tile<f16, 128, 64> = load @a[%2, %7] %9: tile<f16, {0}, 64> = load "
      "@b[%3, %7] %10: tile<f32, 128, {0}> = matmul %8, transposed %9, %5 }} %11: tile<f32, 128, 1> = load @x[%2, 0] "
      "%12: tile<f32, 128, {0}> = broadcast %11 %13: tile<f32, 128, {0}> = mul %6, %12 store @c[%2, %3] = %13 }}",
      columns, threads, stages, steps);
}

ir::Kernel planned(const std::string &text, bool in_rounds = true, int capability = 90, std::uint64_t paired = 0) {
  ir::Kernel kernel =
      jit::plan(lowered(text),
                {gpu_architecture(capability), FactsOfArrays(6, good), {.in_rounds = in_rounds, .paired = paired}});
  ir::verify(kernel, ir::Form::lowered, "plan");
  return kernel;
}

TEST(FormTeams, WhereOneGroupHasATileAndBlocksHaveRounds) {
  const ir::Kernel kernel = planned(scaled_text());
  EXPECT_EQ(kernel.roles.producers, 128);
  EXPECT_EQ(kernel.roles.teams, 2);
  EXPECT_EQ(threads_of_block(kernel), 384);
  const auto registers = registers_of_roles(kernel);
  ASSERT_TRUE(registers);
  EXPECT_LE(registers->multiplying * 256 + registers->producing * 128, 65536);

  EXPECT_EQ(planned(scaled_text(), false).roles.teams, 0);
  EXPECT_EQ(planned(scaled_text(), false).roles.producers, 128);
  EXPECT_EQ(planned(scaled_text(128, 256)).roles.teams, 0) << "two groups share a tile";
  EXPECT_EQ(planned(scaled_text(128, 128, 3)).roles.teams, 0) << "two blocks have room";
  for (const int capability : {80, 89, 100, 120}) EXPECT_EQ(planned(scaled_text(), true, capability).roles.teams, 0);
}

// A thread has the sums of one team's tile.
TEST(FormTeams, NotOfMoreSumsThanAThreadHasRegistersFor) {
  EXPECT_EQ(planned(scaled_text(64)).roles.teams, 2);
  const ir::Kernel wide = planned(scaled_text(256, 128, 4));
  EXPECT_EQ(wide.roles.teams, 0);
}

// The team that ends its turn passes on the ring's position, however many steps there were.
TEST(FormTeams, WhereverTheLoopIs) {
  EXPECT_EQ(planned(scaled_text(128, 128, 6, "%0")).roles.teams, 2) << "as many steps as the block says";
  std::string in_branch = scaled_text();
  in_branch.insert(in_branch.find("for %4"), "for %20: i32 in 0 .. %0 step 1 { %21: bool = lt %20, 2 if %21 { ");
  in_branch.insert(in_branch.rfind("}"), "} } ");
  EXPECT_EQ(planned(in_branch).roles.producers, 128);
  EXPECT_EQ(planned(in_branch).roles.teams, 2);
}

// Each team can then compute its position in the ring. A loop around it, or a branch, may contain it any number of
// times.
TEST(FormTeams, TurnsAreEqualWhereEachIndexHasTheLoopOnceWithAsManySteps) {
  EXPECT_TRUE(planned(scaled_text()).roles.equal_turns);
  EXPECT_TRUE(planned(scaled_text(128, 128, 6, "7")).roles.equal_turns);
  EXPECT_FALSE(planned(scaled_text(128, 128, 6, "%0")).roles.equal_turns);
  EXPECT_FALSE(planned(scaled_text(128, 128, 6, "%1")).roles.equal_turns);
  const auto within = [](const std::string &begin) {
    std::string text = scaled_text();
    text.insert(text.find("for %4"), begin);
    text.insert(text.rfind("}"), "} ");
    return planned(text);
  };
  const ir::Kernel branch = within("%21: bool = lt %0, 2 if %21 { "), loop = within("for %22: i32 in 0 .. 2 step 1 { ");
  for (const ir::Kernel *kernel : {&branch, &loop}) {
    EXPECT_EQ(kernel->roles.teams, 2);
    EXPECT_FALSE(kernel->roles.equal_turns);
  }
}

// Loops with limited terms have a barrier of all multiplying threads.
TEST(FormTeams, NotOfLoopsWhoseTermsHaveALimit) {
  const ProductShape limited{.rows = 128, .columns = 128, .inner = 64, .stages = 6, .limited = true};
  EXPECT_EQ(planned(kernel_text(limited)).roles.producers, 128);
  EXPECT_EQ(planned(kernel_text(limited)).roles.teams, 0);
}

TEST(FormTeams, EachTeamHasMemoryOfItsOwn) {
  const TileMemoryPlan plan = plan_tile_memory(planned(scaled_text()));
  std::int64_t shared = 0, of_teams = 0;
  for (const PlacedTile &tile : plan.tiles) {
    (tile.of_team ? of_teams : shared) += tile.bytes;
    if (!tile.of_team) continue;
    EXPECT_EQ(tile.elements, 128) << "the numbers of the rows";
    for (const PlacedTile &other : plan.tiles)
      if (!other.of_team) EXPECT_GE(tile.offset, other.offset + other.bytes);
  }
  EXPECT_EQ(shared, 6 * 2 * 128 * 64 * 2 + 2 * 6 * 8 + 2 * 16)
      << "and for each team a barrier and where the ring goes on";
  EXPECT_EQ(of_teams, 128 * 4);
  EXPECT_GE(plan.team_bytes, of_teams);
  EXPECT_GE(plan.bytes, shared + 2 * plan.team_bytes);
}

TEST(FormTeams, NotWhereTheirMemoryDoesNotFit) {
  // 128 KB for copies leave room for 64 KB once, but not twice.
  std::string text = scaled_text(128, 128, 4);
  text.replace(text.find("store @c"), text.rfind("}") - text.find("store @c"),
               "%14: tile<f32, 128, 128> = transpose(1, 0) %13 store @c[%2, %3] = %14 ");
  EXPECT_EQ(planned(text).roles.producers, 128);
  EXPECT_EQ(planned(text).roles.teams, 0);
}

TEST(FormTeams, InTheText) {
  const std::string text = ir::to_string(planned(scaled_text(), true, 90, 1));
  EXPECT_THAT(text, HasSubstr("clusters 2 along 0 of 128 teams 2"));
  EXPECT_THAT(text, HasSubstr(" teams 1024"));
  EXPECT_EQ(ir::to_string(ir::parse_kernel(text)), text);
  const auto wrong = [&](const std::string &part, const std::string &other) {
    std::string changed = text;
    changed.replace(changed.find(part), part.size(), other);
    try {
      ir::verify(ir::parse_kernel(changed), ir::Form::lowered, "test");
      return std::string("accepted");
    } catch (const InternalError &error) {
      return std::string(error.what());
    }
  };
  EXPECT_THAT(wrong("of 128 teams 2", "of 128 teams 1"), HasSubstr("1 teams of 128 threads"));
  EXPECT_THAT(wrong("of 128 teams 2", "of 128 teams 8"), HasSubstr("8 teams of 128 threads"));
  EXPECT_THAT(wrong("of 128 teams 2 equal", "of 128"), HasSubstr("memory of teams"));
}

}  // namespace
}  // namespace samite::passes
