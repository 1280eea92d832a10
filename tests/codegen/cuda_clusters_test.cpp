// Emitted kernels whose blocks form clusters, and whose threads form teams, run on the host: two blocks concurrently,
// with copies that arrive as late as possible.
#include "samite/passes/sm90/assign_roles.h"
#include "samite/passes/sm90/form_clusters.h"
#include "samite/passes/tiles/planned_tile.h"
#include "tests/codegen/products_on_host.h"

#include <gtest/gtest.h>

namespace samite::test {
namespace {

constexpr std::int64_t terms_of_step = 64;

// Block (i, j) adds the product of rows i of a and columns j of b, and 1, to tile (i, j) of c. With `of_rows`, row r of
// the tile is multiplied by b[r, 0]; with `repeated`, block (i, j) does so (i + 2 j) % 3 times.
std::string cluster_text(std::int64_t rows, std::int64_t columns, int stages = 3, bool of_rows = false,
                         bool repeated = false) {
  const std::string after =
      of_rows ? fmt::format(
                    "%11: tile<f16, {0}, 1> = load @b[0, 0] %12: tile<f32, {0}, 1> = cast %11 "
                    "%13: tile<f32, {0}, {1}> = broadcast %12 %14: tile<f32, {0}, {1}> = mul %6, %13 ",
                    rows, columns)
              : "";
  return fmt::format(
      "kernel @k(@a: array<const f16, 2>, @b: array<const f16, 2>, @c: array<f32, 2>, @n: i32) blocks 2 of 128 {{ "
      "%0: i32 = thread_index 0 %1: i32 = thread_index 1 %2: i32 = mul %0, {0} %3: i32 = mul %1, {1} {6}"
      "for %4: i32 in 0 .. @n step 1 stages {3} carry (%5 -> %6: tile<f32, {0}, {1}> = 1.0:tile<f32, {0}, {1}> then "
      "%10) {{ %7: i32 = mul %4, {2} %8: tile<f16, {0}, {2}> = load @a[%2, %7] %9: tile<f16, {1}, {2}> = load @b[%3, "
      "%7] %10: tile<f32, {0}, {1}> = matmul %8, transposed %9, %5 }} {4} accumulate @c[%2, %3] += {5} }}{7}",
      rows, columns, terms_of_step, stages, after, of_rows ? "%14" : "%6",
      repeated ? "%15: i32 = mul %1, 2 %16: i32 = add %0, %15 %17: i32 = rem %16, 3 for %18: i32 in 0 .. %17 step 1 { "
               : "",
      repeated ? " }" : "");
}

class ClusterOnHost {
 public:
  ClusterOnHost(std::int64_t rows, std::int64_t columns, std::uint64_t paired)
      : rows_(rows),
        columns_(columns),
        kernel_(planned(cluster_text(rows, columns), paired, /*in_rounds=*/false), good_arrays()) {}
  // In teams, which multiply their tiles' rows by numbers in separate memory.
  ClusterOnHost(std::int64_t rows, std::int64_t columns, int stages, std::uint64_t paired, bool repeated = false)
      : rows_(rows),
        columns_(columns),
        of_rows_(true),
        repeated_(repeated),
        kernel_(planned(cluster_text(rows, columns, stages, true, repeated), paired, /*in_rounds=*/true),
                good_arrays()) {}

  // As the plan asks, in a launch of few blocks.
  ClusterOnHost(std::int64_t rows, std::int64_t columns, int stages, const TilePlan &plan)
      : rows_(rows),
        columns_(columns),
        of_rows_(true),
        kernel_(as_asked(cluster_text(rows, columns, stages, true), plan), good_arrays()) {}

  // Over this many tiles, by this many blocks, which take further tiles.
  void expect_right(std::int64_t down, std::int64_t across, std::int64_t terms, unsigned blocks,
                    ThreadOrder order = {}) const {
    SCOPED_TRACE(testing::Message() << down << " by " << across << " tiles, " << terms << " terms, " << blocks
                                    << " blocks, " << rows_ << " by " << columns_);
    ProductsOnHost<half, float> products(down * rows_ - 8, across * columns_ - 16, terms, terms_of_step);
    products.run(kernel_, {down, across}, blocks, order);
    for (std::int64_t i = 0; i < products.rows; ++i)
      for (std::int64_t j = 0; j < products.columns; ++j) {
        double sum = products.sum(i, j) + 1;
        if (repeated_) sum *= static_cast<double>((i / rows_ + 2 * (j / columns_)) % 3);
        if (of_rows_) sum *= products.of_b(i % rows_, 0);
        ASSERT_EQ(products.of_c(i, j), sum) << i << ' ' << j;
      }
  }

 private:
  static ir::Kernel planned(const std::string &text, std::uint64_t paired, bool in_rounds) {
    ir::Kernel kernel = ir::parse_kernel(text);
    kernel = passes::lower_threads(passes::lower_tiles(std::move(kernel), passes::gpu_architecture(90)));
    kernel =
        jit::plan(std::move(kernel),
                  {passes::gpu_architecture(90), good_arrays().arrays, {.in_rounds = in_rounds, .paired = paired}});
    EXPECT_EQ(kernel.roles.teams, in_rounds ? 2 : 0);
    EXPECT_EQ(kernel.roles.producers, 128);
    EXPECT_EQ(kernel.grid.cluster_blocks, paired == 0 ? 0 : 2);
    return kernel;
  }

  static ir::Kernel as_asked(const std::string &text, const TilePlan &plan) {
    ir::Kernel kernel = ir::parse_kernel(text);
    kernel.plan = plan;
    kernel = passes::with_planned_stages(std::move(kernel));
    kernel = passes::lower_threads(passes::lower_tiles(std::move(kernel), passes::gpu_architecture(90)));
    return jit::plan(std::move(kernel), {passes::gpu_architecture(90), good_arrays().arrays, {.paired = 3}});
  }

  std::int64_t rows_, columns_;
  bool of_rows_ = false, repeated_ = false;
  StayingBlocksOnHost kernel_;
};

// Without a product each tile is 1: checks that each is visited once, by blocks alone and in clusters, in whole and
// partial strips of columns.
TEST(CudaClusters, EachPlaceOnce) {
  const ClusterOnHost alone(64, 256, 0), above(64, 256, 1), beside(64, 256, 2);
  for (const std::int64_t some : {2, 4, 10})
    for (const std::int64_t other : {1, 3, 8, 17})
      for (const unsigned blocks : {2u, 6u}) {
        alone.expect_right(some, other, 0, blocks);
        above.expect_right(some, other, 0, blocks);
        beside.expect_right(other, some, 0, blocks);
      }
}

TEST(CudaClusters, WhoeverRunsFirst) {
  using Kind = ThreadOrder::Kind;
  const ClusterOnHost above(64, 256, 1), beside(64, 256, 2);
  for (const ThreadOrder order : {ThreadOrder{Kind::FirstToLast}, {Kind::LastToFirst}, {Kind::Random, 7}}) {
    above.expect_right(2, 2, 4 * terms_of_step, 2, order);
    beside.expect_right(1, 4, 4 * terms_of_step, 2, order);
  }
  above.expect_right(4, 1, terms_of_step, 4);
}

// Teams take tiles in turn: as many as there are blocks or fewer, one team with a tile more than the other, loops from
// no step to several times as many as stages, and of exactly as many.
TEST(CudaTeams, WhoeverRunsFirst) {
  using Kind = ThreadOrder::Kind;
  const ClusterOnHost alone(64, 128, 5, 0), above(64, 128, 5, 1);
  for (const ThreadOrder order : {ThreadOrder{Kind::FirstToLast}, {Kind::LastToFirst}, {Kind::Random, 7}}) {
    for (const std::int64_t steps : {0, 1, 4, 5, 11}) alone.expect_right(3, 1, steps * terms_of_step, 1, order);
    above.expect_right(2, 3, 4 * terms_of_step, 2, order);
  }
}

// An index may have several loops, or none.
TEST(CudaTeams, LoopsOfEachIndex) {
  using Kind = ThreadOrder::Kind;
  const ClusterOnHost repeated(64, 128, 5, 0, true);
  for (const ThreadOrder order : {ThreadOrder{Kind::FirstToLast}, {Kind::LastToFirst}, {Kind::Random, 7}})
    for (const unsigned blocks : {1u, 2u}) repeated.expect_right(3, 3, 3 * terms_of_step, blocks, order);
  repeated.expect_right(1, 1, terms_of_step, 1);
}

TEST(CudaTeams, OfOneBlockThatAPlanAsksFor) {
  const ClusterOnHost teams(64, 128, 5, {.teams = 2, .cluster_blocks = 1, .strip_columns = 0});
  teams.expect_right(1, 1, terms_of_step, 1);
  teams.expect_right(2, 3, 3 * terms_of_step, 2, {ThreadOrder::Kind::Random, 7});
}

TEST(CudaTeams, InClustersThatAPlanAsksFor) {
  const ClusterOnHost in_clusters(
      64, 128, 5, {.stages = 6, .teams = 2, .cluster_blocks = 2, .cluster_dimension = 1, .strip_columns = 2});
  in_clusters.expect_right(2, 4, 3 * terms_of_step, 2, {ThreadOrder::Kind::Random, 7});
}

TEST(CudaTeams, NotWhereAPlanAsksForNone) {
  const ClusterOnHost alone(64, 128, 6, {.stages = 5, .teams = 1, .cluster_blocks = 1, .strip_columns = 3});
  alone.expect_right(2, 4, 3 * terms_of_step, 2, {ThreadOrder::Kind::Random, 7});
}

TEST(CudaTeams, EachPlaceOnce) {
  const ClusterOnHost alone(64, 128, 5, 0), above(64, 128, 5, 1), beside(64, 128, 5, 2);
  for (const unsigned blocks : {1u, 2u, 5u}) alone.expect_right(2, 3, terms_of_step, blocks);
  for (const std::int64_t other : {1, 3, 9}) {
    alone.expect_right(2, other, terms_of_step, 3);
    above.expect_right(4, other, terms_of_step, 2);
    beside.expect_right(other, 2, 2 * terms_of_step, 4);
  }
}

}  // namespace
}  // namespace samite::test
