// Several elements in one access, of kernels of schedules.
#include "samite/passes/pipelines/pack_accesses.h"

#include "samite/ir/parse.h"
#include "samite/ir/print.h"
#include "samite/ir/verify.h"
#include "samite/passes/pipelines/share_loads.h"

#include <fmt/core.h>
#include <gmock/gmock.h>

namespace samite::passes {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr ArrayFacts whole_rows{.unit_stride = true, .unaliased = true, .aligned_rows = true};

// The body of a block of 32 threads, which has @x and @map to read, @y to write and $0 of each thread.
std::string packed(const std::string &body, ArrayFacts facts = whole_rows) {
  ir::Kernel kernel = ir::parse_kernel(
      "kernel @test(@x: array<const f32, 2>, @y: array<f32, 2>, @map: array<const i32, 1>, @n: i32) blocks 1 of 32 "
      "scheduled { %0: i32 = thread_index 0 local thread $0: f32[4] for.thread %1: i32 in 0 .. 32 step 1 { " +
      body + " } }");
  const FactsOfArrays arrays(4, facts);
  kernel = pack_accesses(share_loads(std::move(kernel), arrays), arrays);
  ir::verify(kernel, ir::Form::lowered, "pack_accesses");
  return ir::to_string(kernel);
}

// Loads of the elements `first`, first + 1, …; the first is at `at`.
std::string loads(const std::string &at, int count) {
  std::string text = at;
  for (int k = 1; k < count; ++k) text += fmt::format(" %{}: i32 = add %9, {}", 9 + k, k);
  for (int k = 0; k < count; ++k)
    text += fmt::format(" %{0}: f32 = load @x[%1, %{1}] local_store $0[{2}] = %{0}", 20 + k, 9 + k, k % 4);
  return text;
}

TEST(PackAccesses, LoadsOfFourFromAMultipleOfFourAreOne) {
  const std::string text = packed(loads("%9: i32 = mul @n, 4", 4));
  EXPECT_THAT(text, HasSubstr("load_pack constant %20: f32, %21: f32, %22: f32, %23: f32 = @x[%1, %9]"));
  EXPECT_THAT(text, Not(HasSubstr(" = load @x")));
}

// The next elements of the row are loaded in the next iteration of an outer loop, less than 256 bytes further on.
TEST(PackAccesses, OfARowThatALoopGoesAlongComeWithWhatFollows) {
  const auto along = [](const std::string &index, const std::string &row, int count = 4) {
    std::string text = "for %5: i32 in 0 .. 8 step 1 { %9: i32 = mul %5, " + index;
    for (int k = 1; k < count; ++k) text += fmt::format(" %{}: i32 = add %9, {}", 9 + k, k);
    for (int k = 0; k < count; ++k)
      text += fmt::format(" %{0}: f32 = load @x[{2}, %{1}] local_store $0[{3}] = %{0}", 20 + k, 9 + k, row, k);
    return packed("%6: i32 = load @map[%1] " + text + " }");
  };
  EXPECT_THAT(along("16", "%6"), HasSubstr("load_pack row %20: f32, %21: f32, %22: f32, %23: f32 = @x[%6, %9]"));
  EXPECT_THAT(along("60", "%6"), HasSubstr("load_pack row"));
  EXPECT_THAT(along("64", "%6"), HasSubstr("load_pack constant")) << "256 bytes further on";
  EXPECT_THAT(along("16", "%5"), HasSubstr("load_pack constant")) << "another row in each iteration";
  EXPECT_THAT(along("16", "%6", 2), HasSubstr("load_pack constant")) << "8 bytes each";
  EXPECT_THAT(along("-16", "%6"), HasSubstr("load_pack constant")) << "backwards";
}

TEST(PackAccesses, AreOfTwoWhereOnlyThatIsKnown) {
  const std::string text = packed(loads("%9: i32 = mul @n, 2", 4));
  EXPECT_THAT(text, HasSubstr("load_pack constant %20: f32, %21: f32 = @x[%1, %9]"));
  EXPECT_THAT(text, HasSubstr("load_pack constant %22: f32, %23: f32 = @x[%1, %11]"));
}

TEST(PackAccesses, ThreeAreTwoAndOne) {
  const std::string text = packed(loads("%9: i32 = mul @n, 4", 3));
  EXPECT_THAT(text, HasSubstr("load_pack constant %20: f32, %21: f32 = @x[%1, %9]"));
  EXPECT_THAT(text, HasSubstr("%22: f32 = load @x[%1, %11]"));
}

TEST(PackAccesses, NothingWhereTheFirstMayBeAnywhere) {
  EXPECT_THAT(packed(loads("%9: i32 = add @n, 4", 4)), Not(HasSubstr("load_pack")));
}

TEST(PackAccesses, NothingOfRowsThatBeginAnywhereOrMayBeWritten) {
  for (ArrayFacts facts :
       {ArrayFacts{.unit_stride = true, .unaliased = true}, ArrayFacts{.unaliased = true, .aligned_rows = true},
        ArrayFacts{.unit_stride = true, .aligned_rows = true}})
    EXPECT_THAT(packed(loads("%9: i32 = mul @n, 4", 4), facts), Not(HasSubstr("load_pack")));
  EXPECT_THAT(packed("%9: i32 = mul @n, 4 %10: i32 = add %9, 1 %11: f32 = load @y[0, %9] %12: f32 = load @y[0, %10] "
                     "store @y[1, 0] = %11 store @y[1, 1] = %12"),
              Not(HasSubstr("load_pack")));
}

TEST(PackAccesses, OfTwoRowsAreApart) {
  const std::string text = packed(
      "%9: i32 = mul @n, 2 %10: i32 = add %9, 1 %11: i32 = add @n, 1 %12: f32 = load @x[@n, %9] "
      "%13: f32 = load @x[%11, %10] local_store $0[0] = %12 local_store $0[1] = %13");
  EXPECT_THAT(text, Not(HasSubstr("load_pack")));
}

TEST(PackAccesses, AdditionsToNeighboursAreOneStepForEach) {
  const std::string text = packed(
      "%9: i32 = mul %1, 2 %10: i32 = add %9, 1 %11: f32 = local_load $0[0] %12: f32 = local_load $0[1] "
      "accumulate atomic @y[@n, %9] += %11 accumulate atomic @y[@n, %10] += %12");
  EXPECT_THAT(text, HasSubstr("accumulate_pack atomic @y[@n, %9] += %11, %12"));
  EXPECT_THAT(text, Not(HasSubstr("accumulate atomic")));
}

TEST(PackAccesses, AdditionsToAnArrayThatIsReadStay) {
  const std::string text = packed(
      "%9: i32 = mul %1, 2 %10: i32 = add %9, 1 %11: f32 = load @y[0, 0] "
      "accumulate atomic @y[@n, %9] += %11 accumulate atomic @y[@n, %10] += %11");
  EXPECT_THAT(text, Not(HasSubstr("accumulate_pack")));
}

TEST(PackAccesses, StoresToNeighboursAreOne) {
  const std::string four =
      "%9: i32 = mul @n, 4 %10: i32 = add %9, 1 %11: i32 = add %9, 2 %12: i32 = add %9, 3 %13: f32 = load @x[%1, @n] "
      "store @y[%1, %9] = %13 store @y[%1, %10] = 2.0:f32 store @y[%1, %11] = 3.0:f32 ";
  EXPECT_THAT(packed(four + "store @y[%1, %12] = 4.0:f32"), HasSubstr("store_pack @y[%1, %9] = %13, 2.0, 3.0, 4.0"));
  EXPECT_THAT(packed(four), HasSubstr("store_pack @y[%1, %9] = %13, 2.0\n"));
  // The last store wins, of those that may be to one element.
  EXPECT_THAT(packed(four + "store @y[%1, %9] = 4.0:f32"), Not(HasSubstr("store_pack")));
  EXPECT_THAT(packed(four + "store @y[@n, %9] = 4.0:f32"), Not(HasSubstr("store_pack")));
  EXPECT_THAT(packed(four + "%14: i32 = load @map[@n] store @y[%1, %14] = 4.0:f32"), Not(HasSubstr("store_pack")));
  EXPECT_THAT(packed(four + "%14: bool = lt %1, @n if %14 { store @y[%1, 0] = 4.0:f32 }"),
              Not(HasSubstr("store_pack")));
  // Those that are apart in another dimension are not.
  EXPECT_THAT(packed(four + "%14: i32 = add %1, 1 store @y[%14, %9] = 4.0:f32"), HasSubstr("store_pack @y[%1, %9]"));
  // No statement reads the elements that are now stored later.
  EXPECT_THAT(packed(four + "%14: f32 = load @y[%1, %9] local_store $0[0] = %14"), Not(HasSubstr("store_pack")));
  EXPECT_THAT(packed(four, {.unit_stride = true, .aligned_rows = true}), Not(HasSubstr("store_pack")));
}

// A copy of `count` elements from @x[%1, %9 …] to $1[%8 …], with %8 and %9 multiples of four.
std::string copies(int count, const std::string &further) {
  std::string text = "%9: i32 = mul @n, 4 %8: i32 = mul %1, 4 ";
  for (int k = 1; k < count; ++k)
    text +=
        fmt::format("%{0}: i32 = add %9, {2} %{1}: i32 = add %8, {3} ", 9 + k, 29 + k, k, further.empty() ? k : 2 * k);
  for (int k = 0; k < count; ++k)
    text += fmt::format("%{0}: f32 = load ahead 1 @x[%1, %{1}] local_store $1[%{2}] = %{0} ", 20 + k, 9 + k,
                        k == 0 ? 8 : 29 + k);
  return text;
}

std::string packed_copies(const std::string &body, ArrayFacts facts = whole_rows) {
  ir::Kernel kernel = ir::parse_kernel(
      "kernel @test(@x: array<const f32, 2>, @y: array<f32, 2>, @map: array<const i32, 1>, @n: i32) blocks 1 of 32 "
      "scheduled { local shared $1: f32[512] for.thread %1: i32 in 0 .. 32 step 1 { " +
      body + " } commit_copies wait_for_copies 0 barrier }");
  const FactsOfArrays arrays(4, facts);
  kernel = pack_accesses(share_loads(std::move(kernel), arrays), arrays);
  ir::verify(kernel, ir::Form::lowered, "pack_accesses");
  return ir::to_string(kernel);
}

TEST(PackAccesses, CopiesToNeighboursAreOne) {
  const std::string text = packed_copies(copies(4, ""));
  EXPECT_THAT(text, HasSubstr("= load ahead 4 @x[%1, "));
  EXPECT_THAT(text, Not(HasSubstr("load ahead 1")));
  EXPECT_THAT(packed_copies(copies(2, "")), HasSubstr("= load ahead 2 @x[%1, "));
  EXPECT_THAT(packed_copies(copies(4, "apart")), Not(HasSubstr("load ahead 4")));
  EXPECT_THAT(packed_copies(copies(4, ""), {.unit_stride = true, .unaliased = true}), Not(HasSubstr("load ahead 4")));
}

TEST(PackAccesses, ALoopAlongARowIsUnrolled) {
  const std::string body =
      "for %9: i32 in 0 .. 64 step 1 { %10: i32 = load @map[%1] %11: f32 = load @x[%10, %9] "
      "%12: f32 = local_load $0[0] %13: f32 = add %12, %11 local_store $0[0] = %13 }";
  const std::string text = packed(body);
  EXPECT_THAT(text, HasSubstr("in 0 .. 16 step 1"));
  EXPECT_THAT(text, HasSubstr("load_pack row"));
  EXPECT_LT(text.find("load @map"), text.find("for %")) << "the same in each iteration\n" << text;
  EXPECT_THAT(packed("for %9: i32 in 0 .. 63 step 1 { %11: f32 = load @x[%1, %9] local_store $0[0] = %11 }"),
              Not(HasSubstr("load_pack")));
}

TEST(ShareLoads, LeaveOnlyLoopsThatRun) {
  const std::string text = packed(
      "for %9: i32 in 0 .. @n step 1 { %10: i32 = load @map[%1] "
      "%11: f32 = cast %10 local_store $0[0] = %11 }");
  EXPECT_GT(text.find("load @map"), text.find("for %")) << text;
}

TEST(ShareLoads, EqualOnesAreOne) {
  const std::string text = packed(
      "%9: f32 = load @x[%1, 1] local_store $0[0] = %9 %10: f32 = load @x[%1, 1] "
      "local_store $0[1] = %10");
  EXPECT_THAT(text, HasSubstr("local_store $0[1] = %9"));
}

TEST(ShareLoads, NotOfAnArrayThatIsWritten) {
  const std::string text = packed(
      "%9: f32 = load @y[%1, 1] store @y[%1, 1] = 2.0 %10: f32 = load @y[%1, 1] "
      "local_store $0[0] = %9 local_store $0[1] = %10");
  EXPECT_THAT(text, HasSubstr("local_store $0[1] = %10"));
}

TEST(ShareLoads, OfMemoryThatTheLoopDoesNotStoreToAreOne) {
  const std::string text = packed(
      "%9: f32 = local_load $0[1] %10: f32 = local_load $0[1] %11: f32 = add %9, %10 "
      "store @y[0, %1] = %11");
  EXPECT_THAT(text, HasSubstr("add %9, %9"));
  const std::string stored = packed(
      "%9: f32 = local_load $0[1] local_store $0[2] = %9 %10: f32 = local_load $0[1] "
      "%11: f32 = add %9, %10 store @y[0, %1] = %11");
  EXPECT_THAT(stored, HasSubstr("add %9, %10"));
}

}  // namespace
}  // namespace samite::passes
