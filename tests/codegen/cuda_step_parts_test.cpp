// Emitted kernels whose clusters of blocks share the steps of a main loop, on the host: all blocks of a cluster run
// concurrently, and their copies arrive as late as possible.
#include "samite/passes/sm90/share_steps.h"
#include "tests/codegen/products_on_host.h"

#include <gtest/gtest.h>

namespace samite::test {
namespace {

// The terms of a step: 128 bytes.
template <class T>
constexpr std::int64_t terms_of_step = 128 / static_cast<std::int64_t>(sizeof(T));

// Tile (i, j) of c is the product of rows i of a and columns j of b, with its row r times a[r, 0], plus a number.
template <class T, class C>
std::string text_of(std::int64_t rows, std::int64_t columns, int threads, std::int64_t stages) {
  const auto factor = name(scalar_type_of<T>), sum = name(scalar_type_of<C>);
  return fmt::format(
      "kernel @k(@a: array<const {5}, 2>, @b: array<const {5}, 2>, @c: array<{6}, 2>, @n: i32) blocks 2 of {3} {{ "
      "%0: i32 = thread_index 0 %1: i32 = thread_index 1 %2: i32 = mul %0, {0} %3: i32 = mul %1, {1} "
      "for %4: i32 in 0 .. @n step 1 stages {4} carry (%5 -> %6: tile<{6}, {0}, {1}> = {7}:tile<{6}, {0}, {1}> then "
      "%10) {{ %7: i32 = mul %4, {2} %8: tile<{5}, {0}, {2}> = load @a[%2, %7] %9: tile<{5}, {1}, {2}> = load @b[%3, "
      "%7] %10: tile<{6}, {0}, {1}> = matmul %8, transposed %9, %5 }} "
      "%11: tile<{5}, {0}, 1> = load @a[0, 0] %12: tile<{6}, {0}, 1> = cast %11 %13: tile<{6}, {0}, {1}> = broadcast "
      "%12 %14: tile<{6}, {0}, {1}> = mul %6, %13 %15: tile<{6}, {0}, {1}> = add %14, {8}:tile<{6}, {0}, {1}> "
      "store @c[%2, %3] = %15 }}",
      rows, columns, terms_of_step<T>, threads, stages, factor, sum, sizeof(T) == 1 ? "0" : "0.0",
      sizeof(T) == 1 ? "3" : "3.0");
}

template <class T = half, class C = float>
class PartsOnHost {
 public:
  // `stages` 0: as many as there is memory for, up to the 16 that a plan can have, so that threads have roles.
  PartsOnHost(std::int64_t rows, std::int64_t columns, int threads, int parts, std::int64_t stages = 0)
      : rows_(rows),
        columns_(columns),
        parts_(parts),
        kernel_(planned(rows, columns, threads, parts, stages), good_arrays()) {}

  void expect_right(std::int64_t down, std::int64_t across, std::int64_t terms, ThreadOrder order = {}) const {
    SCOPED_TRACE(testing::Message() << down << " by " << across << " tiles of " << rows_ << " by " << columns_ << ", "
                                    << terms << " terms in " << parts_ << " parts");
    ProductsOnHost<T, C> products(down * rows_ - 8, across * columns_ - 16, terms, terms_of_step<T>);
    products.run(kernel_, {down, across}, static_cast<unsigned>(down * across * parts_), order);
    for (std::int64_t i = 0; i < products.rows; ++i)
      for (std::int64_t j = 0; j < products.columns; ++j)
        ASSERT_EQ(products.of_c(i, j), products.sum(i, j) * products.of_a(i % rows_, 0) + 3) << i << ' ' << j;
  }

 private:
  static ir::Kernel planned(std::int64_t rows, std::int64_t columns, int threads, int parts, std::int64_t stages) {
    constexpr std::int64_t memory = 200 << 10;
    const std::int64_t most = std::min<std::int64_t>(memory / ((rows + columns) * 128), 16);
    ir::Kernel kernel = ir::parse_kernel(text_of<T, C>(rows, columns, threads, stages == 0 ? most : stages));
    kernel = passes::lower_threads(passes::lower_tiles(std::move(kernel), passes::gpu_architecture(90)));
    kernel = jit::plan(std::move(kernel), {passes::gpu_architecture(90), good_arrays().arrays, {.step_parts = parts}});
    EXPECT_EQ(kernel.roles.producers, stages == 0 ? 128 : 0);
    EXPECT_EQ(kernel.grid.step_parts, parts);
    return kernel;
  }

  std::int64_t rows_, columns_, parts_;
  StayingBlocksOnHost kernel_;
};

// With fewer steps than parts, with as many, and with some more.
TEST(CudaStepParts, AnyNumberOfSteps) {
  for (const int parts : {2, 3, 4, 5, 8}) {
    const PartsOnHost<> kernel(64, 64, 128, parts);
    for (int steps = 0; steps <= 2 * parts + 1; ++steps) kernel.expect_right(1, 2, steps * terms_of_step<half>);
    kernel.expect_right(1, 1, 20 * terms_of_step<half> + 24);
  }
}

TEST(CudaStepParts, TilesOfSeveralGroups) {
  for (const int parts : {2, 7}) {
    PartsOnHost<>(128, 128, 256, parts).expect_right(2, 1, 9 * terms_of_step<half>);
    PartsOnHost<>(64, 256, 128, parts).expect_right(1, 2, 9 * terms_of_step<half>);
    PartsOnHost<>(16, 64, 128, parts).expect_right(3, 2, 9 * terms_of_step<half>);
  }
}

TEST(CudaStepParts, OfIntegers) {
  const PartsOnHost<std::int8_t, std::int32_t> kernel(64, 128, 128, 3);
  for (const std::int64_t terms : {0, 128, 1000}) kernel.expect_right(1, 2, terms);
}

TEST(CudaStepParts, OfThreadsWithoutRoles) {
  for (const int parts : {2, 8}) {
    const PartsOnHost<> kernel(64, 64, 128, parts, 3);
    for (const std::int64_t steps : {0, 5, 19}) kernel.expect_right(2, 1, steps * terms_of_step<half>);
  }
}

TEST(CudaStepParts, WhoeverRunsFirst) {
  using Kind = ThreadOrder::Kind;
  const PartsOnHost<> kernel(64, 64, 128, 4);
  for (const ThreadOrder order :
       {ThreadOrder{Kind::FirstToLast}, {Kind::LastToFirst}, {Kind::Random, 7}, {Kind::Random, 8}})
    for (const std::int64_t steps : {0, 3, 30}) kernel.expect_right(2, 2, steps * terms_of_step<half>, order);
}

}  // namespace
}  // namespace samite::test
