// Which arrays products read as factors, how often a launch multiplies them, and when copies of them pay.
#include "samite/passes/tiles/factor_copies.h"

#include "samite/ir/verify.h"
#include "tests/passes/product_loop_kernel.h"

#include <gmock/gmock.h>

#include <array>

namespace samite::passes {
namespace {

using namespace test::product_loops;
using ::testing::IsEmpty;

std::vector<FactorRead> reads_of(const std::string &text) {
  return factor_reads(structured(text), gpu_architecture(90));
}

// The reads of a kernel over two dimensions, whose b has `rank` dimensions and is loaded at `place`, in a loop over %k.
std::vector<FactorRead> reads_at(const std::string &place, int rank = 2) {
  return reads_of(
      "kernel @k(@a: array<const bf16, 2>, @b: array<const bf16, " + std::to_string(rank) +
      ">, @c: array<f32, 2>, @table: array<const i32, 1>, @n: i32) blocks 2 of 128 { %0: i32 = thread_index 0 "
      "%1: i32 = thread_index 1 %2: i32 = mul %0, 64 %3: i32 = mul %1, 64 %11: i32 = load @table[%1] "
      "for %4: i32 in 0 .. @n step 1 stages 3 carry (%5 -> %6: tile<f32, 64, 64> = 0.0:tile<f32, 64, 64> then %10) { "
      "%7: i32 = mul %4, 64 %8: tile<bf16, 64, 64> = load @a[%2, %7] %9: tile<bf16, 64, 64> = load @b[" +
      place + "] %10: tile<f32, 64, 64> = matmul %8, %9, %5 } store @c[%2, %3] = %6 }");
}

double multiplications(const FactorRead &read, std::vector<std::int64_t> array, std::vector<std::int64_t> launch) {
  return passes::multiplications(read, array, launch);
}

TEST(FactorCopies, ReadsOfAProduct) {
  const std::vector<FactorRead> reads = reads_at("%7, %3");
  ASSERT_EQ(reads.size(), 2u);
  EXPECT_EQ(reads[0], (FactorRead{0, {{64, 1, false}, {64, 0, true}}, 64, false, false}));
  EXPECT_EQ(reads[1], (FactorRead{1, {{64, 0, true}, {64, 2, false}}, 64, false, false}));
  // 5 adjacent blocks multiply each element of a by 64 columns each, 3 blocks below each other each element of b.
  EXPECT_EQ(multiplications(reads[0], {170, 1000}, {3, 5}), 5 * 64);
  EXPECT_EQ(multiplications(reads[1], {1000, 300}, {3, 5}), 3 * 64);
}

TEST(FactorCopies, TermsThatDoNotLieTogether) {
  ProductShape shape{.rows = 64, .columns = 96, .inner = 32, .type = "f32", .tf32 = true};
  for (const bool a : {false, true})
    for (const bool b : {false, true}) {
      shape.a_transposed = a, shape.b_transposed = b;
      const std::vector<FactorRead> reads = reads_of(kernel_text(shape));
      ASSERT_EQ(reads.size(), 2u);
      EXPECT_TRUE(reads[0].terms_together && reads[1].terms_together);
      EXPECT_EQ(reads[0].swapped, a);
      EXPECT_EQ(reads[1].swapped, !b);
      EXPECT_EQ(reads[0].multiplied, 96);
      EXPECT_EQ(reads[1].multiplied, 64);
    }
  shape.columns = 128, shape.b_transposed = false;
  for (const bool a : {false, true}) {
    shape.a_transposed = a;
    const std::vector<FactorRead> reads = reads_of(kernel_text(shape));
    ASSERT_EQ(reads.size(), 2u);
    EXPECT_EQ(reads[0].swapped, a);
    EXPECT_FALSE(reads[1].swapped) << "groups of warps have it in registers";
  }
  shape.tf32 = false;
  EXPECT_THAT(reads_of(kernel_text(shape)), IsEmpty()) << "the threads' multiplications";
  EXPECT_THAT(factor_reads(structured(kernel_text({.rows = 64, .columns = 64, .inner = 64})), gpu_architecture(80)),
              IsEmpty());
}

// A copy of the whole array would be more than the kernel reads, or how much that is cannot be told.
TEST(FactorCopies, NoMultiplicationsWhereWhatIsReadCannotBeTold) {
  EXPECT_EQ(reads_at("%7, %3").size(), 2u);
  const std::vector<FactorRead> loaded = reads_at("%7, %11");
  ASSERT_EQ(loaded.size(), 2u);
  EXPECT_FALSE(loaded[1].dimensions.at(1).told) << "at a place that is loaded";
  EXPECT_EQ(multiplications(loaded[1], {1000, 300}, {3, 5}), 0);
  const std::vector<FactorRead> matrix = reads_at("@n, %7, %3", 3);
  ASSERT_EQ(matrix.size(), 2u);
  EXPECT_EQ(multiplications(matrix[1], {8, 1000, 300}, {3, 5}), 0) << "one matrix of 8";
  EXPECT_EQ(multiplications(matrix[1], {1, 1000, 300}, {3, 5}), 3 * 64);
  const std::vector<FactorRead> batch = reads_at("%1, %7, 0", 3);
  EXPECT_EQ(multiplications(batch[1], {5, 1000, 64}, {3, 5}), 3 * 64);
  EXPECT_EQ(multiplications(batch[1], {5, 1000, 300}, {3, 5}), 0) << "64 columns of 300";
  EXPECT_EQ(multiplications(reads_at("%7, %3")[1], {1000, 4000}, {3, 5}), 0) << "a launch over a part";
}

TEST(FactorCopies, PayWhereElementsAreMultipliedOften) {
  const double large = 4095.0 * 4095;
  EXPECT_TRUE(pays(large, 4096, false));
  EXPECT_TRUE(pays(large, 4096, true));
  EXPECT_FALSE(pays(large, 128, false)) << "one block reads it";
  EXPECT_FALSE(pays(large, 512, true));
  EXPECT_FALSE(pays(100 * 100, 256, false)) << "done before the copy is launched";
  EXPECT_FALSE(pays(1024 * 1024, 1024, true));
  EXPECT_TRUE(pays(2048 * 2048, 2048, true));
  EXPECT_FALSE(pays(0, 4096, false));
  EXPECT_FALSE(pays(large, 0, false));
}

TEST(FactorCopies, AreParametersBehindTheOthers) {
  const std::string text = kernel_text({.rows = 64, .columns = 64, .inner = 64});
  const std::array copies{FactorCopy{5, 0, false}, FactorCopy{6, 1, true}};
  const ir::Kernel kernel = with_copies(structured(text), copies);
  ir::verify(kernel, ir::Form::structured, "the test");
  ASSERT_EQ(kernel.parameters.size(), 7u);
  EXPECT_EQ(kernel.parameters[5].name, "a_padded");
  EXPECT_EQ(kernel.parameters[6].name, "b_swapped");
  EXPECT_EQ(kernel.parameters[6].type, ScalarType::Float16);
  EXPECT_EQ(kernel.parameters[6].rank, 2);
}

}  // namespace
}  // namespace samite::passes
