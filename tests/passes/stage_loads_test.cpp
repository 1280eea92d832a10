// The statements that multi-stage loops run ahead.
#include "samite/passes/tiles/stage_loads.h"

#include "samite/passes/tiles/place_tiles.h"
#include "tests/passes/lowered_block.h"

#include <gmock/gmock.h>

namespace samite::passes {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ir::Kernel staged(const std::string &body, const FactsOfArrays &arrays = {}) {
  ir::Kernel kernel = stage_loads(place_tiles(test::lowered_block(body), gpu_architecture(90)), arrays);
  ir::verify(kernel, ir::Form::lowered, "stage_loads");
  return kernel;
}

std::size_t ahead(const ir::Kernel &kernel) {
  std::size_t most = 0;
  for (const ir::For &loop : test::all<ir::For>(kernel)) most = std::max(most, loop.ahead);
  return most;
}

TEST(StageLoads, FactorsThatTheIndexAloneFindsHaveABufferForEachStage) {
  const ir::Kernel kernel = staged(test::pipelined_product);
  EXPECT_GT(ahead(kernel), 0u);
  EXPECT_THAT(test::memory(kernel), HasSubstr("shared f16[1024] rows(16, 2, swizzled) stages 3"));
  EXPECT_THAT(test::memory(kernel), HasSubstr("shared f16[1024] rows(64, 8, swizzled) stages 3"));
}

// Loads of arrays that the loop may write to are not done ahead.
TEST(StageLoads, NothingThatTheLoopMayWrite) {
  const auto loop = [](const std::string &array) {
    return "for %1: i32 in 0 .. @n step 1 stages 3 { %3: tile<f32, 64, 16> = load @" + array +
           "[0, %1] %4: tile<f32, 64, 64> = matmul %3, transposed %3, 0.0:tile<f32, 64, 64> store @x[%1, 0] = %4 }";
  };
  const FactsOfArrays apart(4, {.unaliased = true});
  const ir::Kernel kernel = staged(loop("y"), apart);
  EXPECT_GT(ahead(kernel), 0u);
  EXPECT_THAT(test::memory(kernel), HasSubstr("stages 3"));
  for (const ir::Kernel &none : {staged(loop("y")), staged(loop("x"), apart)}) {
    EXPECT_EQ(ahead(none), 0u);
    EXPECT_THAT(test::memory(none), Not(HasSubstr("stages")));
  }
}

TEST(StageLoads, NothingThatNeedsWhatTheLoopCarries) {
  const ir::Kernel kernel = staged(
      "for %1: i32 in 0 .. @n step 1 stages 3 carry (%8 -> %9: i32 = 0 then %10, "
      "%2 -> %6: tile<f32, 64, 64> = 0.0:tile<f32, 64, 64> then %5) { "
      "%3: tile<f16, 64, 16> = load @h[0, %8] %4: tile<f16, 16, 64> = load @h[%8, 0] %10: i32 = add %8, 16 "
      "%5: tile<f32, 64, 64> = matmul %3, %4, %2 } store @x[0, 0] = %6");
  EXPECT_EQ(ahead(kernel), 0u);
}

TEST(StageLoads, NothingInLoopsOfOneStage) {
  std::string text = test::pipelined_product;
  text.replace(text.find("stages 3"), 8, "        ");
  EXPECT_EQ(ahead(staged(text)), 0u);
}

}  // namespace
}  // namespace samite::passes
