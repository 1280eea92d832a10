// The order in which the blocks of a product run.
#include "samite/passes/tiles/number_blocks.h"

#include "samite/ir/parse.h"
#include "samite/ir/verify.h"
#include "samite/passes/analysis/architecture.h"
#include "samite/passes/threads/lower_threads.h"
#include "samite/passes/tiles/lower_tiles.h"

#include <gtest/gtest.h>

namespace samite::passes {
namespace {

int strip_columns(const std::string &text) {
  ir::Kernel kernel = ir::parse_kernel(text);
  ir::verify(kernel, ir::Form::structured, "the test");
  return number_blocks(lower_threads(lower_tiles(std::move(kernel), gpu_architecture(80)))).grid.strip_columns;
}

std::string product(const std::string &row = "%2: i32 = mul %0, 16 ") {
  return "kernel @k(@a: array<const f16, 2>, @b: array<const f16, 2>, @c: array<f32, 2>, @rows: array<const i32, 1>, "
         "@n: i32) blocks 2 of 64 { %0: i32 = thread_index 0 %1: i32 = thread_index 1 " +
         row +
         "%3: i32 = mul %1, 16 for %4: i32 in 0 .. @n step 1 carry (%5 -> %6: tile<f32, 16, 16> = 0.0:tile<f32, 16, "
         "16> then %10) { %7: i32 = mul %4, 16 %8: tile<f16, 16, 16> = load @a[%2, %7] %9: tile<f16, 16, 16> = load "
         "@b[%7, %3] %10: tile<f32, 16, 16> = matmul %8, %9, %5 } store @c[%2, %3] = %6 }";
}

TEST(NumberBlocks, ProductsInALoopHaveStrips) { EXPECT_EQ(strip_columns(product()), 16); }

TEST(NumberBlocks, WhoseRowsAreLoadedHaveNarrowStrips) {
  EXPECT_EQ(strip_columns(product("%2: i32 = load @rows[%0] ")), 4);
}

TEST(NumberBlocks, KernelsWithoutProductsStay) {
  EXPECT_EQ(strip_columns("kernel @k(@a: array<const f32, 2>, @c: array<f32, 2>) blocks 2 of 64 { %0: i32 = "
                          "thread_index 0 %1: i32 = thread_index 1 %2: tile<f32, 1, 64> = load @a[%0, %1] store "
                          "@c[%0, %1] = %2 }"),
            0);
}

}  // namespace
}  // namespace samite::passes
