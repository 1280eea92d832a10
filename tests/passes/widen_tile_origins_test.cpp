// Indices of tiles in arrays that 32 bits cannot count are computed in 64 bits.
#include "samite/passes/tiles/widen_tile_origins.h"

#include "samite/ir/parse.h"
#include "samite/ir/print.h"
#include "samite/ir/verify.h"

#include <gmock/gmock.h>

namespace samite::passes {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr const char *whole_kernel =
    "kernel @k(@x: array<const f32, 1>, @y: array<f32, 1>, @n: i32) blocks 1 of 64 { %0: i32 = thread_index 0 "
    "%1: i32 = mul %0, 4096 %2: tile<f32, 4096> = load @x[%1] store @y[%1] = %2 }";

std::string widened(const std::string &text, const std::vector<bool> &wide) {
  ir::Kernel kernel = ir::parse_kernel(text);
  ir::verify(kernel, ir::Form::structured, "the test");
  kernel = widen_tile_origins(std::move(kernel), wide);
  ir::verify(kernel, ir::Form::structured, "widen_tile_origins");
  return ir::to_string(kernel);
}

TEST(WidenTileOrigins, TheProductOfNumberAndExtentIsWide) {
  const std::string text = widened(whole_kernel, {true, false, false});
  EXPECT_THAT(text, HasSubstr("i64 = cast %0"));
  EXPECT_THAT(text, HasSubstr(", 4096"));
  EXPECT_THAT(text, Not(HasSubstr("load @x[%1]")));
  EXPECT_THAT(text, HasSubstr("store @y[%1] = %2")) << "the other array is small";
}

TEST(WidenTileOrigins, StoresToo) {
  const std::string text = widened(whole_kernel, {false, true, false});
  EXPECT_THAT(text, HasSubstr("load @x[%1]"));
  EXPECT_THAT(text, Not(HasSubstr("store @y[%1]")));
}

TEST(WidenTileOrigins, AnIndexThatIsNoProductIsCast) {
  const std::string text = widened(
      "kernel @k(@x: array<const f32, 1>, @y: array<f32, 1>, @n: i32) blocks 1 of 64 { "
      "%2: tile<f32, 64> = load @x[@n] store @y[0] = %2 }",
      {true, false, false});
  EXPECT_THAT(text, HasSubstr("i64 = cast @n"));
}

TEST(WidenTileOrigins, SmallArraysAndKernelsOfThreadsStay) {
  EXPECT_EQ(widened(whole_kernel, {false, false, false}), ir::to_string(ir::parse_kernel(whole_kernel)));
  const char *by_threads =
      "kernel @k(@x: array<const f32, 1>, @y: array<f32, 1>) threads 1 { %0: i32 = thread_index 0 "
      "%1: f32 = load @x[%0] store @y[%0] = %1 }";
  EXPECT_EQ(widened(by_threads, {true, true}), ir::to_string(ir::parse_kernel(by_threads)));
}

}  // namespace
}  // namespace samite::passes
