// The operations that become one loop over elements if threads run one after another: also runs with other tiles in
// between.
#include "samite/passes/tiles/lower_tiles.h"

#include "samite/ir/parse.h"
#include "samite/ir/print.h"
#include "samite/ir/verify.h"
#include "tests/base/count.h"

#include <gtest/gtest.h>

namespace samite::passes {
namespace {

using test::count;

// A kernel that loads %1 from x, of `rows` by 32, and stores %9.
std::string lowered_kernel(int rows, const std::string &body, bool flat) {
  const std::string text =
      "kernel @k(@x: array<const f32, 2>, @y: array<f32, 2>, @z: array<f32, 2>, @w: array<f32, 1>) blocks 1 of 64 { "
      "%0: i32 = thread_index 0 %1: tile<f32, " +
      std::to_string(rows) + ", 32> = load @x[%0, 0] " + body + " store @y[%0, 0] = %9 }";
  ir::Kernel kernel = ir::parse_kernel(text);
  ir::verify(kernel, ir::Form::structured, "the test");
  kernel = lower_tiles(std::move(kernel), flat ? gpu_architecture(90) : cpu_architecture());
  ir::verify(kernel, ir::Form::lowered, "lower_tiles");
  return ir::to_string(kernel);
}

std::string lowered(const std::string &body, bool flat = false) { return lowered_kernel(2, body, flat); }
std::string lowered_row(const std::string &body, bool flat = false) { return lowered_kernel(1, body, flat); }

const std::string column = "%3: tile<f32, 2, 1> = load @z[%0, 0] %4: tile<f32, 2, 1> = mul %3, %3 ";
const std::string times_column = "%5: tile<f32, 2, 32> = broadcast %4 %9: tile<f32, 2, 32> = mul %2, %5";

// A running sum that is scaled before a product is added to it has one place, with threads and without.
TEST(LowerTiles, SumsAreScaledInTheirPlace) {
  const std::string scaled = "%5: tile<f32, 2, 32> = broadcast %8 %6: tile<f32, 2, 32> = mul %2, %5 ";
  const auto looped = [&](const std::string &body) {
    return "%3: tile<f32, 32, 32> = load @x[0, 0] for %4: i32 in 0 .. 4 step 1 carry (%2 -> %9: tile<f32, 2, 32> = "
           "0.0:tile<f32, 2, 32> then %7) { %8: tile<f32, 2, 1> = load @z[%4, 0] " +
           body + " }";
  };
  for (const bool flat : {false, true}) {
    const std::string once = lowered(looped(scaled + "%7: tile<f32, 2, 32> = matmul %1, %3, %6"), flat);
    EXPECT_EQ(count(once, "f32[64]"), 2) << once;  // %1, and the sum
    // The previous value is needed once more.
    const std::string twice =
        lowered(looped(scaled + "%10: tile<f32, 2, 32> = matmul %1, %3, %6 %7: tile<f32, 2, 32> = add %10, %2"), flat);
    EXPECT_GE(count(twice, "f32[64]"), 3) << twice;
    const std::string in_both =
        lowered(looped(scaled +
                       "%10: tile<f32, 2, 32> = matmul %1, %3, %6 store @y[%4, 0] = %6 %7: tile<f32, 2, 32> = add %10, "
                       "%10"),
                flat);
    EXPECT_GE(count(in_both, "f32[64]"), 3) << in_both;
  }
}

// The column is made first, and then one loop doubles, multiplies and stores.
TEST(LowerTiles, TilesInBetweenComeBefore) {
  const std::string body = "%2: tile<f32, 2, 32> = add %1, %1 " + column + times_column;
  const std::string text = lowered(body);
  EXPECT_EQ(count(text, "for.thread"), 2) << text;
  EXPECT_EQ(count(text, "local shared"), 1) << text;
  EXPECT_LT(text.find("load @z"), text.find("load @x")) << text;
  EXPECT_GT(count(lowered(body, true), "for.thread"), 2);
}

TEST(LowerTiles, SoDoCallsInBetween) {
  const std::string text = lowered(
      "%2: tile<f32, 2, 32> = add %1, %1 %6: tile<f32, 2, 8> = load @z[%0, 0] "
      "%4: tile<f32, 2, 1> = reduce_add %6 " +
      times_column);
  EXPECT_EQ(count(text, "for.thread"), 2) << text;
  EXPECT_LT(text.find("tile_call reduce_add"), text.find("load @x")) << text;
}

TEST(LowerTiles, NotWhatTheLoopMakes) {
  const std::string text =
      lowered("%2: tile<f32, 2, 32> = add %1, %1 %4: tile<f32, 2, 1> = reduce_add %2 " + times_column);
  EXPECT_EQ(count(text, "for.thread"), 2) << text;
  EXPECT_GT(text.find("tile_call reduce_add"), text.find("load @x")) << text;
  EXPECT_LT(text.find("tile_call reduce_add"), text.find("store @y")) << text;
}

// A load is not moved before a store of the loop, nor a load in the loop past a store in between.
TEST(LowerTiles, NothingIsMovedOverAStore) {
  const std::string stored = lowered("%2: tile<f32, 2, 32> = add %1, %1 store @z[%0, 0] = %2 " + column + times_column);
  EXPECT_LT(stored.find("store @z"), stored.find("load @z")) << stored;
  const std::string between = lowered(
      "%2: tile<f32, 2, 32> = add %1, %1 %6: tile<f32, 2, 1> = load @x[%0, 1] "
      "store @z[%0, 0] = %6 " +
      column + times_column);
  EXPECT_LT(between.find("store @z"), between.find("load @z")) << between;
}

// Each loop over elements recomputes the indices of a gather, rather than keeping them in memory, if that is little
// work; indices that other code reads stay in memory.
TEST(LowerTiles, IndicesAreMadeAgain) {
  const auto gathers = [](const std::string &last, const std::string &between = "") {
    return lowered(
        "%2: tile<i32, 2, 32> = coordinate 0 %3: tile<i32, 2, 32> = broadcast %0 "
        "%4: tile<i32, 2, 32> = add %3, %2 " +
            last + " %6: tile<f32, 2, 32> = load @z[%5, 0] %7: tile<f32, 2, 32> = mul %6, %1 " + between +
            " store @z[%0, 0] = %7 %8: tile<f32, 2, 32> = load @z[%5, 1] "
            "%9: tile<f32, 2, 32> = mul %8, %8",
        true);
  };
  const std::string few = gathers("%5: tile<i32, 2, 32> = mul %4, 3:tile<i32, 2, 32>");
  EXPECT_EQ(count(few, "i32[64]"), 0) << few;
  EXPECT_EQ(count(few, "load @z["), 2) << few;
  const std::string many = gathers(
      "%10: tile<i32, 2, 32> = mul %4, 3:tile<i32, 2, 32> %11: tile<i32, 2, 32> = sub %10, %2 "
      "%5: tile<i32, 2, 32> = mul %11, 5:tile<i32, 2, 32>");
  EXPECT_EQ(count(many, "i32[64]"), 1) << many;
  const std::string reduced =
      gathers("%5: tile<i32, 2, 32> = mul %4, 3:tile<i32, 2, 32>", "%12: i32 = reduce_max %5 store @w[%12] = 1.0");
  EXPECT_EQ(count(reduced, "i32[64]"), 1) << reduced;
}

// A row that is added to a tile is loaded at the addition.
const std::string row = "%6: tile<f32, 32> = load @w[0] %7: tile<f32, 1, 32> = reshape %6 ";

TEST(LowerTiles, LoadsARowWithItsDimensions) {
  const std::string text = lowered_row(row + "%9: tile<f32, 1, 32> = add %1, %7");
  // One loop that loads and adds; y may overlap w, so that everything is loaded before anything is stored.
  EXPECT_EQ(count(text, "for.thread"), 2) << text;
  EXPECT_EQ(count(text, "local shared"), 1) << text;
}

// So that a GPU's threads hold none of it, except if there are products, or if a row serves several rows of a tile.
TEST(LowerTiles, OnAGpuLoadsARowWithItsDimensionsWhereNothingMultiplies) {
  const std::string sum = "%8: f32 = reduce_add %1 %2: tile<f32, 1, 32> = broadcast %8 ",
                    added = "%3: tile<f32, 1, 32> = add %1, %7 %9: tile<f32, 1, 32> = mul %2, %3";
  const std::string text = lowered_row(sum + row + added, true);
  EXPECT_EQ(count(text, "tile_load"), 1) << text;
  EXPECT_EQ(count(text, "= load @w["), 1) << text;
  const std::string factors =
      "%10: tile<f32, 1, 1> = load @z[0, 0] "
      "%11: tile<f32, 1, 32> = load @z[0, 0] "
      "%2: tile<f32, 1, 32> = matmul %10, %11, 0.0:tile<f32, 1, 32> ";
  const std::string product = lowered_row(factors + row + added, true);
  EXPECT_EQ(count(product, "tile_load $"), 4) << product;
  const std::string of_rows =
      lowered(row + "%8: tile<f32, 2, 32> = broadcast %7 %9: tile<f32, 2, 32> = add %1, %8", true);
  EXPECT_EQ(count(of_rows, "tile_load"), 1) << of_rows << "of x";
}

TEST(LowerTiles, NotARowThatIsReadOtherwise) {
  const std::string twice = lowered_row(row +
                                        "%8: tile<f32, 32> = mul %6, %6 store @w[0] = %8 "
                                        "%9: tile<f32, 1, 32> = add %1, %7");
  EXPECT_EQ(count(twice, "load @w"), 1) << twice;
  EXPECT_GT(count(twice, "local shared"), 1) << twice;
  const std::string column = lowered_row(
      "%6: tile<f32, 32> = load @w[0] %7: tile<f32, 32, 1> = reshape %6 "
      "%8: tile<f32, 1, 32> = transpose (1, 0) %7 "
      "%9: tile<f32, 1, 32> = add %1, %8");
  EXPECT_LT(column.find("load @w"), column.find("load @x")) << column;  // in a loop of its own
}

// The load stays before a store to its array that comes between it and the reshape.
TEST(LowerTiles, ARowIsLoadedWhereItWas) {
  const std::string text = lowered_row(
      "%6: tile<f32, 32> = load @w[0] store @w[0] = 1.0:tile<f32, 32> "
      "%7: tile<f32, 1, 32> = reshape %6 %9: tile<f32, 1, 32> = add %1, %7");
  EXPECT_LT(text.find("load @w"), text.find("store @w")) << text;
}

}  // namespace
}  // namespace samite::passes
