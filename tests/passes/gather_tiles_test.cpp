// The additions of a tile kernel that are gathered, and unchanged ones.
#include "samite/passes/adjoint/gather_tiles.h"

#include "samite/ir/parse.h"
#include "samite/ir/print.h"
#include "samite/ir/verify.h"

#include <gmock/gmock.h>

namespace samite::passes {
namespace {

using namespace ir;
using ::testing::HasSubstr;
using ::testing::Not;

// An adjoint of C[i, j] by A, in 8 x 8 tiles; `before` and `inside` the loop over k, which is %6.
Kernel adjoint(const std::string &inside, const std::string &before = "", const std::string &range = "0 .. %5 step 1",
               const std::string &take = "exchange") {
  Kernel kernel = parse_kernel(
      "kernel @k(@a: array<const f32, 2>, @n: i32, @places: array<const i32, 1>, @c: array<const f32, 2>, "
      "@ag: gradient of @a array<f32, 2>, @cg: gradient of @c array<f32, 2>) blocks 2 of 64 { "
      "%0: i32 = thread_index 0 %1: i32 = thread_index 1 %2: i32 = mul %0, 8 %3: i32 = mul %1, 8 "
      "%4: i32 = extent @a, 1 %5: i32 = div %4, 8 %20: tile<f32, 8, 8> = " +
      take + " @cg[%2, %3] " + before + " for %6: i32 in " + range + " { %7: i32 = mul %6, 8 " + inside + " } }");
  verify(kernel, Form::structured, "the test");
  return kernel;
}
const std::string simple = "accumulate atomic @ag[%2, %7] += %20 ";

std::string gathered(const Kernel &kernel) {
  const auto result = gather_tiles(kernel);
  if (!result) return "";
  verify(result->gather, Form::structured, "gather_tiles");
  verify(result->clear, Form::structured, "gather_tiles");
  return to_string(result->gather);
}

TEST(GatherTiles, AWindowIsSummedOverTheBlocksThatMeetThere) {
  const std::string text = gathered(adjoint(simple));
  EXPECT_THAT(text, HasSubstr("carry ("));
  EXPECT_THAT(text, HasSubstr("launch_end 1"));
  EXPECT_THAT(text, Not(HasSubstr("atomic")));
  EXPECT_THAT(text, Not(HasSubstr("exchange")));
  EXPECT_THAT(to_string(gather_tiles(adjoint(simple))->clear), HasSubstr("store @cg"));
}

TEST(GatherTiles, LoopsMayCountDown) {
  EXPECT_NE(gathered(adjoint(simple, "%8: i32 = add %5, -1", "%8 .. -1 step -1")), "");
}

TEST(GatherTiles, IterationsAreCountedForALaunch) {
  const auto result = gather_tiles(adjoint(simple, "%8: i32 = add %5, @n", "%8 .. -1 step -1"));
  ASSERT_TRUE(result && result->dealt.size() == 1);
  EXPECT_THAT(result->dealt[0].launch_dimensions, testing::ElementsAre(1));
  const auto count = iterations(
      result->dealt[0], [](ArrayDimension array) { return array == ArrayDimension{0, 1} ? 80 : -1; },
      [](const Value &) { return Value::constant(ScalarType::Int32, 3); });
  EXPECT_EQ(count, 14);  // 80 / 8 + 3 .. -1
}

TEST(GatherTiles, WindowsWithElementsInCommonAreAddedAtomically) {
  EXPECT_THAT(gathered(adjoint("%8: i32 = mul %6, 4 accumulate atomic @ag[%2, %8] += %20 ")),
              HasSubstr("accumulate atomic"));
}

TEST(GatherTiles, SeveralAdditionsToOneArrayAreAtomic) {
  const std::string text = gathered(adjoint(simple + "accumulate atomic @ag[%7, %2] += %20 "));
  EXPECT_THAT(text, HasSubstr("accumulate atomic"));
  EXPECT_EQ(text.find("+= %20"), std::string::npos);
}

// The adjoint of a product of tiles of 8 x 16 by both factors, in steps of 8 terms, whose loop has this many iterations
// over k, which is %6.
Kernel adjoint_of_a(const std::string &count, const std::string &of_k = "mul %6, 8") {
  Kernel kernel = parse_kernel(
      "kernel @k(@a: array<const f32, 2>, @b: array<const f32, 2>, @c: array<const f32, 2>, "
      "@ag: gradient of @a array<f32, 2>, @bg: gradient of @b array<f32, 2>, @cg: gradient of @c array<f32, 2>) "
      "blocks 2 of 64 { %0: i32 = thread_index 0 %1: i32 = thread_index 1 %2: i32 = mul %0, 8 %3: i32 = mul %1, 16 "
      "%4: i32 = extent @a, 1 %5: i32 = " +
      count +
      " %20: tile<f32, 8, 16> = exchange @cg[%2, %3] "
      "for %6: i32 in 0 .. %5 step 1 { %7: i32 = " +
      of_k +
      " %8: tile<f32, 8, 16> = load @b[%7, %3] "
      "%9: tile<f32, 8, 8> = matmul %20, transposed %8, 0.0:tile<f32, 8, 8> "
      "accumulate atomic @ag[%2, %7] += %9 } }");
  verify(kernel, Form::structured, "the test");
  return kernel;
}

TEST(GatherTiles, WideWindowsAreThoseOfTheForwardProduct) {
  const auto result = gather_tiles(adjoint_of_a("div %4, 8"), /*wide=*/true);
  ASSERT_TRUE(result);
  verify(result->gather, Form::structured, "gather_tiles");
  const std::string text = to_string(result->gather);
  EXPECT_THAT(text, HasSubstr("tile<f32, 8, 16> = matmul"));
  EXPECT_THAT(text, Not(HasSubstr("tile<f32, 8, 8> = matmul")));
}

TEST(GatherTiles, WideWindowsEndWithTheArray) {
  const auto count_of = [](std::int64_t columns) {
    return iterations(
        gather_tiles(adjoint_of_a("div %4, 8"), true)->dealt.at(0), [=](ArrayDimension) { return columns; },
        [](const Value &parameter) { return parameter; });
  };
  EXPECT_EQ(count_of(80), 5);
  EXPECT_EQ(count_of(72), 5) << "half of the last one is beyond the array";
  EXPECT_EQ(count_of(84), 5) << "ten windows, after which four columns are left alone";
  EXPECT_EQ(count_of(76), std::nullopt) << "nine windows; a tenth would be of four columns that nobody asked for";
}

TEST(GatherTiles, WindowsApartAreNotWidened) {
  EXPECT_TRUE(gather_tiles(adjoint_of_a("div %4, 8", "mul %6, 9")));
  EXPECT_FALSE(gather_tiles(adjoint_of_a("div %4, 8", "mul %6, 9"), true));
  EXPECT_FALSE(gather_tiles(adjoint(simple), true)) << "no product";
}

TEST(GatherTiles, LeavesAloneWhatItCannotTurnRound) {
  const struct {
    const char *why;
    Kernel kernel;
  } cases[] = {
      {"all blocks meet in one window", adjoint("accumulate atomic @ag[0, %7] += %20 accumulate atomic @ag[0, 0] += "
                                                "%20 %8: tile<f32, 8, 8> = load @ag[0, 0]")},
      {"no index of the loop selects it", adjoint("accumulate atomic @ag[%2, 0] += %20")},
      {"every block has its own", adjoint("%8: i32 = add %3, %7 accumulate atomic @ag[%2, %8] += %20")},
      {"the window depends on data", adjoint("%8: i32 = load @places[%6] accumulate atomic @ag[%2, %8] += %20")},
      {"the loop's end depends on data", adjoint(simple, "%8: i32 = load @places[%0]", "0 .. %8 step 1")},
      {"the loop's end depends on the block", adjoint(simple, "", "0 .. %1 step 1")},
      {"steps of two", adjoint(simple, "", "0 .. %5 step 2")},
      {"the gradient is read", adjoint("%8: tile<f32, 8, 8> = load @ag[%2, %7] " + simple)},
      {"a cotangent that any block may take", adjoint(simple, "", "0 .. %5 step 1", "exchange atomic")},
      {"a cotangent that is taken twice", adjoint(simple, "%8: tile<f32, 8, 8> = exchange @cg[%2, %3]")},
      {"a value that a loop carries",
       parse_kernel("kernel @k(@a: array<const f32, 2>, @ag: gradient of @a array<f32, 2>) blocks 2 of 64 { "
                    "%0: i32 = thread_index 0 %1: i32 = mul %0, 8 "
                    "for %2: i32 in 0 .. 4 step 1 carry (%3 -> %4: tile<f32, 8, 8> = 0.0:tile<f32, 8, 8> then %6) { "
                    "%5: i32 = mul %2, 8 %6: tile<f32, 8, 8> = load @a[%1, %5] "
                    "accumulate atomic @ag[%1, %5] += %3 } }")},
  };
  for (const auto &[why, kernel] : cases) EXPECT_EQ(gathered(kernel), "") << why;
}

}  // namespace
}  // namespace samite::passes
