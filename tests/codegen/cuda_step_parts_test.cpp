// Emitted kernels whose clusters of blocks share the steps of a loop of products, on the host: all blocks of a cluster
// run at one time, and their copies arrive as late as they may.
#include "samite/passes/share_steps.h"
#include "tests/codegen/staying_blocks.h"

#include <gtest/gtest.h>

namespace samite::test {
namespace {

constexpr std::int64_t terms_of_step = 64;

// Tile (i, j) of c is what rows i of a and columns j of b give, its row r times a[r, 0], and a number more.
std::string text_of(std::int64_t rows, std::int64_t columns, int threads, std::int64_t stages) {
  return fmt::format(
      "kernel @k(@a: array<const f16, 2>, @b: array<const f16, 2>, @c: array<f32, 2>, @n: i32) blocks 2 of {3} {{ "
      "%0: i32 = thread_index 0 %1: i32 = thread_index 1 %2: i32 = mul %0, {0} %3: i32 = mul %1, {1} "
      "for %4: i32 in 0 .. @n step 1 stages {4} carry (%5 -> %6: tile<f32, {0}, {1}> = 0.0:tile<f32, {0}, {1}> then "
      "%10) {{ %7: i32 = mul %4, {2} %8: tile<f16, {0}, {2}> = load @a[%2, %7] %9: tile<f16, {1}, {2}> = load @b[%3, "
      "%7] %10: tile<f32, {0}, {1}> = matmul %8, transposed %9, %5 }} "
      "%11: tile<f16, {0}, 1> = load @a[0, 0] %12: tile<f32, {0}, 1> = cast %11 %13: tile<f32, {0}, {1}> = broadcast "
      "%12 %14: tile<f32, {0}, {1}> = mul %6, %13 %15: tile<f32, {0}, {1}> = add %14, 3.0:tile<f32, {0}, {1}> "
      "store @c[%2, %3] = %15 }}",
      rows, columns, terms_of_step, threads, stages);
}

class PartsOnHost {
 public:
  // `stages` 0: as many as there is memory for, so that threads have roles.
  PartsOnHost(std::int64_t rows, std::int64_t columns, int threads, int parts, std::int64_t stages = 0)
      : rows_(rows),
        columns_(columns),
        parts_(parts),
        kernel_(planned(rows, columns, threads, parts, stages), good_arrays()) {}

  void expect_right(std::int64_t down, std::int64_t across, std::int64_t terms, ThreadOrder order = {}) const {
    SCOPED_TRACE(testing::Message() << down << " by " << across << " tiles of " << rows_ << " by " << columns_ << ", "
                                    << terms << " terms in " << parts_ << " parts");
    // All end inside of the last tiles.
    const std::int64_t m = down * rows_ - 8, n = across * columns_ - 16, held = std::max(terms, terms_of_step);
    const std::vector<half> a = values(m * held, 3), b = values(n * held, 5);
    std::vector<float> c(static_cast<std::size_t>(m * n), 0.0f);
    std::vector<TensorMapOnHost> maps;
    for (const passes::TensorMapNeeded &map : kernel_.maps()) {
      const bool of_a = map.array == 0;
      maps.push_back(map_on_host(map, (of_a ? a : b).data(), {of_a ? m : n, held}));
    }
    kernel_.run({array(a, {m, held}), array(b, {n, held}), array(c, {m, n}),
                 scalar(static_cast<int>((terms + terms_of_step - 1) / terms_of_step))},
                maps, {down, across}, static_cast<unsigned>(down * across * parts_), order);
    for (std::int64_t i = 0; i < m; ++i)
      for (std::int64_t j = 0; j < n; ++j) {
        double sum = 0;
        for (std::int64_t k = 0; k < terms; ++k)
          sum += static_cast<double>(a[static_cast<std::size_t>(i * held + k)]) *
                 static_cast<double>(b[static_cast<std::size_t>(j * held + k)]);
        sum = sum * static_cast<double>(a[static_cast<std::size_t>(i % rows_ * held)]) + 3;
        ASSERT_EQ(c[static_cast<std::size_t>(i * n + j)], static_cast<float>(sum)) << i << ' ' << j;
      }
  }

 private:
  // Each is held exactly, and so are sums of their products.
  static std::vector<half> values(std::int64_t count, std::int64_t step) {
    std::vector<half> values;
    for (std::int64_t k = 0; k < count; ++k) values.emplace_back(static_cast<float>(k * step % 11 - 5));
    return values;
  }

  static ir::Kernel planned(std::int64_t rows, std::int64_t columns, int threads, int parts, std::int64_t stages) {
    constexpr std::int64_t memory = 200 << 10;
    const std::int64_t most = memory / ((rows + columns) * terms_of_step * 2);
    ir::Kernel kernel = ir::parse_kernel(text_of(rows, columns, threads, stages == 0 ? most : stages));
    kernel = passes::lower_threads(passes::lower_tiles(std::move(kernel), passes::gpu_architecture(90)));
    kernel =
        jit::plan_for_gpu(std::move(kernel), passes::gpu_architecture(90), good_arrays().arrays, {.step_parts = parts});
    EXPECT_EQ(kernel.producers, stages == 0 ? 128 : 0);
    EXPECT_EQ(kernel.step_parts, parts);
    return kernel;
  }

  std::int64_t rows_, columns_, parts_;
  StayingBlocksOnHost kernel_;
};

// With fewer steps than parts, with as many, and with some more.
TEST(CudaStepParts, AnyNumberOfSteps) {
  for (const int parts : {2, 3, 4, 5, 8}) {
    const PartsOnHost kernel(64, 64, 128, parts);
    for (int steps = 0; steps <= 2 * parts + 1; ++steps) kernel.expect_right(1, 2, steps * terms_of_step);
    kernel.expect_right(1, 1, 20 * terms_of_step + 24);
  }
}

TEST(CudaStepParts, TilesOfSeveralGroups) {
  for (const int parts : {2, 7}) {
    PartsOnHost(128, 128, 256, parts).expect_right(2, 1, 9 * terms_of_step);
    PartsOnHost(64, 256, 128, parts).expect_right(1, 2, 9 * terms_of_step);
    PartsOnHost(16, 64, 128, parts).expect_right(3, 2, 9 * terms_of_step);
  }
}

TEST(CudaStepParts, OfThreadsWithoutRoles) {
  for (const int parts : {2, 8}) {
    const PartsOnHost kernel(64, 64, 128, parts, 3);
    for (const std::int64_t steps : {0, 5, 19}) kernel.expect_right(2, 1, steps * terms_of_step);
  }
}

TEST(CudaStepParts, WhoeverRunsFirst) {
  using Kind = ThreadOrder::Kind;
  const PartsOnHost kernel(64, 64, 128, 4);
  for (const ThreadOrder order :
       {ThreadOrder{Kind::FirstToLast}, {Kind::LastToFirst}, {Kind::Random, 7}, {Kind::Random, 8}})
    for (const std::int64_t steps : {0, 3, 30}) kernel.expect_right(2, 2, steps * terms_of_step, order);
}

}  // namespace
}  // namespace samite::test
