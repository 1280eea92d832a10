// The blocks that load windows for each other.
#include "samite/passes/sm90/form_clusters.h"

#include "samite/jit/pipeline.h"
#include "tests/passes/product_loop_kernel.h"

#include <gmock/gmock.h>

namespace samite::passes {
namespace {

using namespace test::product_loops;
using ::testing::HasSubstr;

// Block (i, j) multiplies rows i of a by columns j of b.
std::string over_two_dimensions(std::int64_t rows, std::int64_t columns, const std::string &type = "f16",
                                const std::string &steps = "@n") {
  return fmt::format(
      "kernel @k(@a: array<const {0}, 2>, @b: array<const {0}, 2>, @c: array<f32, 2>, @n: i32, @at: i32) blocks 2 of "
      "256 {{ %0: i32 = thread_index 0 %1: i32 = thread_index 1 %2: i32 = mul %0, {1} %3: i32 = mul %1, {2} "
      "for %4: i32 in 0 .. {3} step 1 stages 4 carry (%5 -> %6: tile<f32, {1}, {2}> = 0.0:tile<f32, {1}, {2}> then "
      "%10) {{ %7: i32 = mul %4, {4} %8: tile<{0}, {1}, {4}> = load @a[%2, %7] %9: tile<{0}, {2}, {4}> = load @b[%3, "
      "%7] %10: tile<f32, {1}, {2}> = matmul %8, transposed %9, %5 }} store @c[%2, %3] = %6 }}",
      type, rows, columns, steps, type == "f16" ? 64 : 128);
}

ir::Kernel clustered_plan(const std::string &text, std::uint64_t paired, int capability = 90) {
  ir::Kernel kernel =
      jit::plan(lowered(text), {gpu_architecture(capability), FactsOfArrays(5, good), {.paired = paired}});
  ir::verify(kernel, ir::Form::lowered, "plan");
  return kernel;
}

std::vector<int> parts(const ir::Kernel &kernel) {
  std::vector<int> parts;
  for (const ir::MainLoop &loop : test::all<ir::MainLoop>(kernel))
    for (const ir::Transfer &factor : loop.factors) parts.push_back(factor.parts);
  return parts;
}

constexpr std::uint64_t rows_paired = 1, columns_paired = 2, both = 3;

// Concurrent blocks cover about a square; they are closer together if a load determines their windows.
TEST(FormClusters, BlocksAreInStrips) {
  const std::string wide = over_two_dimensions(128, 256);
  EXPECT_EQ(clustered_plan(wide, 0).grid.strip_columns, 8);
  EXPECT_EQ(clustered_plan(over_two_dimensions(256, 128), 0).grid.strip_columns, 16);
  EXPECT_EQ(clustered_plan(over_two_dimensions(128, 128), 0).grid.strip_columns, 16);
  std::string found = wide;
  found.replace(found.find("@b[%3, "), 7, "@b[%62, ");
  found.insert(found.find("for %4"), "%60: f16 = load @a[%2, 0] %61: i32 = cast %60 %62: i32 = mul %61, 256 ");
  EXPECT_EQ(clustered_plan(found, 0).grid.strip_columns, 4);
}

// Blocks one above the other share the columns, blocks side by side the rows.
TEST(FormClusters, TheLargerOfBothWindowsIsShared) {
  const std::string wide = over_two_dimensions(128, 256), high = over_two_dimensions(256, 128);
  ir::Kernel kernel = clustered_plan(wide, both);
  EXPECT_EQ(kernel.grid.cluster_blocks, 2);
  EXPECT_EQ(kernel.grid.cluster_dimension, 0);
  EXPECT_EQ(parts(kernel), (std::vector{1, 2}));
  kernel.body = kernel.roles.producing;
  EXPECT_EQ(parts(kernel), (std::vector{1, 2})) << "who copies and who multiplies say the same";
  kernel = clustered_plan(high, both);
  EXPECT_EQ(kernel.grid.cluster_dimension, 1);
  EXPECT_EQ(parts(kernel), (std::vector{2, 1}));
}

TEST(FormClusters, AlongADimensionThatIsPairedAlone) {
  EXPECT_EQ(clustered_plan(over_two_dimensions(128, 256), 0).grid.cluster_blocks, 0);
  const ir::Kernel beside = clustered_plan(over_two_dimensions(128, 256), columns_paired);
  EXPECT_EQ(beside.grid.cluster_blocks, 2);
  EXPECT_EQ(beside.grid.cluster_dimension, 1);
  EXPECT_EQ(parts(beside), (std::vector{2, 1}));
  EXPECT_EQ(clustered_plan(over_two_dimensions(256, 128), rows_paired).grid.cluster_dimension, 0);
}

TEST(FormClusters, InTheText) {
  const std::string text = ir::to_string(clustered_plan(over_two_dimensions(128, 256), both));
  EXPECT_THAT(text, HasSubstr("blocks 2 strips 8 clusters 2 along 0 of 256"));
  EXPECT_THAT(text, HasSubstr(" step 0, 64 in 2"));
  EXPECT_EQ(ir::to_string(ir::parse_kernel(text)), text);
}

// Each would wait for copies that the other does not start.
TEST(FormClusters, NotWhereBlocksHaveOtherNumbersOfSteps) {
  std::string text = over_two_dimensions(128, 256);
  text.replace(text.find("0 .. @n"), 7, "0 .. %0");
  EXPECT_EQ(clustered_plan(text, rows_paired).grid.cluster_blocks, 0);
  EXPECT_EQ(clustered_plan(text, columns_paired).grid.cluster_blocks, 2);

  std::string in_branch = over_two_dimensions(128, 256);
  in_branch.insert(in_branch.find("for %4"), "for %20: i32 in 0 .. 2 step 1 { %21: bool = lt %0, %20 if %21 { ");
  in_branch.insert(in_branch.rfind("}"), "} } ");
  ASSERT_EQ(clustered_plan(in_branch, 0).roles.producers, 128);
  EXPECT_EQ(clustered_plan(in_branch, rows_paired).grid.cluster_blocks, 0);
  EXPECT_EQ(clustered_plan(in_branch, columns_paired).grid.cluster_blocks, 2);
}

// Values that a block reads from an array are its own.
TEST(FormClusters, NotWhereTheWindowsAreThoseOfOneBlock) {
  std::string text = over_two_dimensions(128, 256);
  text.replace(text.find("@b[%3,"), 6, "@b[%22,");
  text.insert(text.find("for %4"), "%20: f16 = load @a[%0, 0] %21: i32 = cast %20 %22: i32 = mul %21, 8 ");
  const ir::Kernel kernel = clustered_plan(text, rows_paired);
  ASSERT_EQ(kernel.roles.producers, 128);
  EXPECT_EQ(kernel.grid.cluster_blocks, 0);
}

TEST(FormClusters, NotWhereLevelTwoIsNotWaitedFor) {
  const ir::Kernel of_8_bits = clustered_plan(over_two_dimensions(128, 256, "f8e4m3"), both);
  EXPECT_EQ(of_8_bits.roles.producers, 128);
  EXPECT_EQ(of_8_bits.grid.cluster_blocks, 0);
  const ProductShape scaled{.rows = 128, .columns = 128, .inner = 64, .threads = 256, .stages = 4, .halved = true};
  const ir::Kernel in_steps = clustered_plan(kernel_text(scaled), 1);
  EXPECT_EQ(in_steps.roles.producers, 128);
  EXPECT_EQ(in_steps.grid.cluster_blocks, 0);
}

TEST(FormClusters, NotOnOtherArchitectures) {
  for (const int capability : {80, 89, 100, 120})
    EXPECT_EQ(clustered_plan(over_two_dimensions(128, 256), both, capability).grid.cluster_blocks, 0) << capability;
}

}  // namespace
}  // namespace samite::passes
