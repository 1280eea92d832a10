// Which tiles the threads of a block hold together in their registers.
#include "samite/passes/spread_tiles.h"

#include "samite/passes/place_tiles.h"
#include "tests/passes/lowered_block.h"

#include <gmock/gmock.h>

namespace samite::passes {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

ir::Kernel spread(const std::string &body, int capability = 90) {
  const Architecture &architecture = gpu_architecture(capability);
  ir::Kernel kernel = spread_tiles(place_tiles(test::lowered_block(body), architecture), architecture);
  ir::verify(kernel, ir::Form::lowered, "spread_tiles");
  return kernel;
}

const std::string load = "%1: tile<f32, 8, 256> = load @x[0, 0] ";
const std::string reduce = "%2: tile<f32, 8, 1> = reduce_add %1 ";
const std::string use = "%3: tile<f32, 8, 256> = broadcast %2 %4: tile<f32, 8, 256> = sub %1, %3 store @y[0, 0] = %4";

TEST(SpreadTiles, RowsThatAreReducedAndGoneOverAreInRegisters) {
  EXPECT_THAT(test::memory(spread(load + reduce + use)), HasSubstr("registers f32[2048] fragments(rows, 8, 256, "));
}

TEST(SpreadTiles, NotWhatIsReadAcross) {
  EXPECT_THAT(
      test::memory(spread(load + reduce + use + " %5: tile<f32, 256, 8> = transpose(1, 0) %1 store @x[0, 0] = %5")),
      Not(HasSubstr("registers f32[2048]")));
}

TEST(SpreadTiles, NotTilesOfFewElements) {
  EXPECT_THAT(test::memory(spread("%1: tile<f32, 8, 8> = load @x[0, 0] %2: tile<f32, 8, 1> = reduce_add %1 "
                                  "%3: tile<f32, 8, 8> = broadcast %2 %4: tile<f32, 8, 8> = sub %1, %3 "
                                  "store @y[0, 0] = %4")),
              Not(HasSubstr("registers")));
}

TEST(SpreadTiles, SaysHowManyBlocksLeaveEachThreadItsRegisters) {
  const ir::Kernel kernel = spread(load + reduce + use);
  EXPECT_GT(kernel.resident_blocks, 0);
  EXPECT_LE(kernel.resident_blocks * 64, 2048);
  EXPECT_EQ(spread("store @y[0, 0] = 1.0").resident_blocks, 0);
  EXPECT_LE(spread(load + reduce + use, 86).resident_blocks * 64, 1536) << "fewer threads at one time";
}

TEST(Architecture, RowsAreThoseOfTheirCapabilityOrTheOneBefore) {
  EXPECT_EQ(gpu_architecture(90).capability, 90);
  EXPECT_EQ(gpu_architecture(103).capability, 100);
  EXPECT_EQ(gpu_architecture(121).capability, 120);
  EXPECT_EQ(gpu_architecture(75).capability, 80) << "older than any row";
  EXPECT_TRUE(gpu_architecture(90).blocks_have_threads());
  EXPECT_FALSE(cpu_architecture().blocks_have_threads());
  EXPECT_EQ(gpu_architecture(90).shared_bytes, 227 * 1024);
  EXPECT_EQ(gpu_architecture(89).shared_bytes, 99 * 1024);
}

}  // namespace
}  // namespace samite::passes
