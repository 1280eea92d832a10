// Which tiles the threads of a block hold together in their registers.
#include "samite/passes/tiles/spread_tiles.h"

#include "samite/passes/tiles/place_tiles.h"
#include "tests/base/count.h"
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

TEST(SpreadTiles, EachThreadHasWhatAllOfATileIsReducedTo) {
  const std::string all = "%2: f32 = reduce_add %1 ";
  const std::string use_all =
      "%3: tile<f32, 8, 256> = broadcast %2 %4: tile<f32, 8, 256> = sub %1, %3 store @y[0, 0] = %4";
  const std::string one = "registers f32[1] fragments(everywhere, 1, 1, 1, 2)";
  EXPECT_THAT(test::memory(spread(load + all + use_all)), HasSubstr(one));
  EXPECT_THAT(test::memory(spread(load + reduce + use)), Not(HasSubstr("everywhere"))) << "a value for each row";
  EXPECT_THAT(test::memory(spread("%1: tile<f32, 8, 8> = load @x[0, 0] " + all + "store @y[0, 0] = %2")),
              Not(HasSubstr("everywhere")))
      << "of a tile in shared memory";
  EXPECT_THAT(test::memory(spread(load + "%2: tile<f32, 1, 1> = reduce_add %1 %3: tile<f32, 1, 1> = scan_add 1, %2 "
                                         "store @y[0, 0] = %3")),
              Not(HasSubstr("everywhere")))
      << "which another call reads";
}

// Also for values computed from it, element by element.
TEST(SpreadTiles, EachThreadHasWhatIsMadeOfThatAlone) {
  const auto everywhere = [](const std::string &made) {
    return test::count(test::memory(spread(load + "%2: tile<f32, 1, 1> = reduce_add %1 " + made)), "everywhere");
  };
  const std::string use_all =
      "%5: tile<f32, 8, 256> = broadcast %4 %6: tile<f32, 8, 256> = sub %1, %5 "
      "store @y[0, 0] = %6";
  EXPECT_EQ(everywhere("%3: tile<f32, 1, 1> = mul %2, %2 %4: tile<f32, 1, 1> = exp %3 " + use_all), 2)
      << "the sum, and one loop's result";
  EXPECT_EQ(everywhere("%3: tile<f32, 1, 1> = load @y[0, 9] %4: tile<f32, 1, 1> = mul %2, %3 " + use_all), 1)
      << "which reads an array: one thread does";
  EXPECT_EQ(everywhere("for %7: i32 in 0 .. @n step 1 carry (%3 -> %4: tile<f32, 1, 1> = %2 then %8) { "
                       "%8: tile<f32, 1, 1> = mul %3, 0.5:tile<f32, 1, 1> } " +
                       use_all),
            1)
      << "also around a loop, in one place";
}

// The limit of 128 registers applies at each moment.
TEST(SpreadTiles, TilesAreInRegistersOneAfterAnother) {
  std::string body;
  for (int i = 0; i < 4; ++i) {
    const std::string tile = "%" + std::to_string(10 + 4 * i), all = "%" + std::to_string(11 + 4 * i),
                      each = "%" + std::to_string(12 + 4 * i), made = "%" + std::to_string(13 + 4 * i);
    body += tile + ": tile<f32, 8, 512> = load @x[0, 0] " + all + ": f32 = reduce_add " + tile + " " + each +
            ": tile<f32, 8, 512> = broadcast " + all + " " + made + ": tile<f32, 8, 512> = sub " + tile + ", " + each +
            " store @y[0, 0] = " + made + " ";
  }
  EXPECT_EQ(test::count(test::memory(spread(body)), "registers f32[4096]"), 4) << "64 registers each";
}

TEST(SpreadTiles, SaysHowManyBlocksLeaveEachThreadItsRegisters) {
  const ir::Kernel kernel = spread(load + reduce + use);
  EXPECT_GT(kernel.grid.resident_blocks, 0);
  EXPECT_LE(kernel.grid.resident_blocks * 64, 2048);
  EXPECT_EQ(spread("store @y[0, 0] = 1.0").grid.resident_blocks, 0);
  EXPECT_LE(spread(load + reduce + use, 86).grid.resident_blocks * 64, 1536) << "fewer threads at one time";
}

TEST(Architecture, RowsAreThoseOfTheirCapabilityOrTheOneBefore) {
  EXPECT_EQ(gpu_architecture(90).capability, 90);
  EXPECT_EQ(gpu_architecture(103).capability, 103);
  EXPECT_EQ(gpu_architecture(101).capability, 100);
  EXPECT_EQ(gpu_architecture(121).capability, 120);
  EXPECT_EQ(gpu_architecture(75).capability, 80) << "older than any row";
  EXPECT_TRUE(gpu_architecture(90).blocks_have_threads());
  EXPECT_FALSE(cpu_architecture().blocks_have_threads());
  EXPECT_EQ(gpu_architecture(90).shared_bytes, 227 * 1024);
  EXPECT_EQ(gpu_architecture(89).shared_bytes, 99 * 1024);
}

}  // namespace
}  // namespace samite::passes
