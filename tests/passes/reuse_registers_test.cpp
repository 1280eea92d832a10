// Tiles that take the registers of the tiles they are computed from.
#include "samite/passes/tiles/reuse_registers.h"

#include "samite/passes/tiles/place_tiles.h"
#include "tests/passes/lowered_block.h"

#include <gmock/gmock.h>

namespace samite::passes {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

const std::string sums =
    "local registers $0: f32[4096] fragments(matrices, 64, 64, 1, 2) "
    "local registers $1: f32[4096] fragments(matrices, 64, 64, 1, 2) ";
const std::string doubled =
    "for.thread %0: i32 in 0 .. 4096 step 1 { %1: f32 = local_load $0[%0] %2: f32 = mul %1, 2.0 local_store $1[%0] = "
    "%2 } ";
const std::string stored =
    "for.thread %3: i32 in 0 .. 4096 step 1 { %4: f32 = local_load $1[%3] store @y[%3, 0] = %4 } ";

// The remaining tiles, and a read of the second one.
std::string reused(const std::string &body) {
  ir::Kernel kernel = reuse_registers(
      ir::parse_kernel("kernel @k(@y: array<f32, 2>, @x: array<const f32, 2>) blocks 1 of 64 {\n" + body + "\n}"));
  ir::verify(kernel, ir::Form::lowered, "reuse_registers");
  return to_string(kernel);
}
bool is_reused(const std::string &body) { return reused(body).find("local registers $1") == std::string::npos; }

TEST(ReuseRegisters, OfWhatNothingNeedsAnyLonger) {
  const std::string text = reused(sums + doubled + stored);
  EXPECT_THAT(text, Not(HasSubstr("$1")));
  EXPECT_THAT(text, HasSubstr("local_store $0[%0] = %2"));
  EXPECT_THAT(text, HasSubstr("%4: f32 = local_load $0[%3]"));
}

TEST(ReuseRegisters, ByCallsToo) {
  const std::string text = reused(
      sums + doubled + "local shared $2: f32[64] tile_call reduce_add 0 $2: tile<f32, 64, 1> = $1: tile<f32, 64, 64>");
  EXPECT_THAT(text, HasSubstr("= $0: tile<f32, 64, 64>"));
}

TEST(ReuseRegisters, OneAfterAnother) {
  const std::string again =
      "local registers $2: f32[4096] fragments(matrices, 64, 64, 1, 2) for.thread %5: i32 in 0 .. 4096 step 1 { %6: "
      "f32 "
      "= local_load $1[%5] local_store $2[%5] = %6 } for.thread %7: i32 in 0 .. 4096 step 1 { %8: f32 = local_load "
      "$2[%7] store @y[%7, 0] = %8 }";
  const std::string text = reused(sums + doubled + again);
  EXPECT_THAT(text, Not(HasSubstr("$1")));
  EXPECT_THAT(text, Not(HasSubstr("$2")));
  EXPECT_THAT(text, HasSubstr("%8: f32 = local_load $0[%7]"));
}

TEST(ReuseRegisters, NotOfWhatIsStillNeeded) {
  const std::string read =
      "for.thread %5: i32 in 0 .. 4096 step 1 { %6: f32 = local_load $0[%5] store @y[%5, 1] = %6 } ";
  EXPECT_TRUE(is_reused(sums + doubled + stored));
  EXPECT_FALSE(is_reused(sums + doubled + read + stored));
  EXPECT_FALSE(
      is_reused(sums + doubled + stored +
                "local shared $2: f32[64] tile_call reduce_add 0 $2: tile<f32, 64, 1> = $0: tile<f32, 64, 64>"));
  EXPECT_FALSE(is_reused(sums +
                         "for.thread %0: i32 in 0 .. 4096 step 1 { %1: f32 = local_load $0[%0] local_store "
                         "$1[%0] = %1 %2: f32 = local_load $0[%0] store @y[%0, 1] = %2 } " +
                         stored))
      << "it is read behind the store";
  EXPECT_FALSE(
      is_reused("local registers $0: f32[4096] fragments(matrices, 64, 64, 1, 2) for %9: i32 in 0 .. 2 step 1 { "
                "local registers $1: f32[4096] fragments(matrices, 64, 64, 1, 2) " +
                doubled + stored + "}"))
      << "the next iteration reads it";
}

TEST(ReuseRegisters, NotByWhatWasThereBefore) {
  EXPECT_FALSE(
      is_reused(sums + "for.thread %5: i32 in 0 .. 4096 step 1 { local_store $1[%5] = 1.0 } " + doubled + stored))
      << "it has other elements before";
  EXPECT_FALSE(is_reused(sums +
                         "for.thread %0: i32 in 0 .. 4096 step 1 { %1: f32 = local_load $0[%0] %5: f32 = "
                         "local_load $1[%0] %2: f32 = add %1, %5 local_store $1[%0] = %2 } " +
                         stored));
}

TEST(ReuseRegisters, NotOfOtherLayoutsOrTypes) {
  std::string other = sums;
  other.replace(other.rfind("1, 2)"), 5, "2, 1)");
  EXPECT_FALSE(is_reused(other + doubled + stored));
  const std::string shared =
      "local shared $0: f32[4096] local registers $1: f32[4096] fragments(matrices, 64, 64, 1, 2) ";
  EXPECT_FALSE(is_reused(shared + doubled + stored));
}

// Two tiles computed from one: one of them takes its registers.
TEST(ReuseRegisters, ByOneOfTwo) {
  const std::string text =
      reused(sums +
             "local registers $2: f32[4096] fragments(matrices, 64, 64, 1, 2) for.thread %0: i32 in 0 .. 4096 "
             "step 1 { %1: f32 = local_load $0[%0] local_store $1[%0] = %1 local_store $2[%0] = 3.0 } for.thread "
             "%3: i32 in 0 .. 4096 step 1 { %4: f32 = local_load $1[%3] %5: f32 = local_load $2[%3] %6: f32 = add "
             "%4, %5 store @y[%3, 0] = %6 }");
  EXPECT_THAT(text, HasSubstr("local registers $2"));
  EXPECT_THAT(text, HasSubstr("local_store $0[%0] = %1"));
  EXPECT_THAT(text, HasSubstr("local_store $2[%0] = 3"));
}

}  // namespace
}  // namespace samite::passes
