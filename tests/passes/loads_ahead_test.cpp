// The loads that multi-stage loops prefetch: factors of products, also those that they cast first.
#include "samite/ir/parse.h"
#include "samite/ir/print.h"
#include "samite/ir/verify.h"
#include "samite/passes/tiles/lower_tiles.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace samite::passes {
namespace {

using testing::HasSubstr;
using testing::Not;

// A product over 8 steps whose first factor is computed from a load by `makes`, which defines %7 from %5, and `after`
// it.
ir::Kernel structured_product(const std::string &makes, const std::string &after, int stages) {
  const std::string text = R"(
    kernel @k(@a: array<const f32, 2>, @b: array<const bf16, 2>, @c: array<f32, 2>, @d: array<f32, 2>) blocks 1 of 64 {
      %0: i32 = thread_index 0
      for %2: i32 in 0 .. 8 step 1 stages )" +
                           std::to_string(stages) + R"( carry (%3 -> %9: tile<f32, 32, 16> =
          0.0:tile<f32, 32, 16> then %8) {
        %4: i32 = mul %2, 16
        %5: tile<f32, 32, 16> = load @a[%0, %4]
        )" + makes + R"(
        %1: i32 = add %4, 1
        %6: tile<bf16, 16, 16> = load @b[%1, 0]
        %8: tile<f32, 32, 16> = matmul %7, %6, %3
        )" + after + R"(
      }
      store @c[%0, 0] = %9
    })";
  ir::Kernel kernel = ir::parse_kernel(text);
  ir::verify(kernel, ir::Form::structured, "the test");
  return kernel;
}
std::string lowered_product(const std::string &makes, const std::string &after = "", int stages = 2,
                            bool loads_ahead = true) {
  const ir::Kernel kernel =
      lower_tiles(structured_product(makes, after, stages), gpu_architecture(90), {.loads_ahead = loads_ahead});
  ir::verify(kernel, ir::Form::lowered, "lower_tiles");
  return ir::to_string(kernel);
}

const std::string cast = "%7: tile<bf16, 32, 16> = cast %5";

// Both loads come first, each from values known at the start of the iteration.
TEST(LoadsAhead, OfWhatIsCast) {
  const std::string text = lowered_product(cast);
  const std::size_t a = text.find(": tile<f32, 32, 16> = @a["), b = text.find(": tile<bf16, 16, 16> = @b["),
                    casts = text.find("tile_call cast 0 ");
  ASSERT_NE(a, text.npos) << text;
  ASSERT_NE(b, text.npos) << text;
  ASSERT_NE(casts, text.npos) << text;
  EXPECT_LT(std::max(a, b), casts) << text;
}

TEST(LoadsAhead, OfWhatIsMoreThanCast) {
  const std::string text = lowered_product("%10: tile<f32, 32, 16> = mul %5, %5\n%7: tile<bf16, 32, 16> = cast %10");
  EXPECT_THAT(text, HasSubstr(": tile<f32, 32, 16> = @a["));
  EXPECT_THAT(text, Not(HasSubstr("tile_call cast")));
}

TEST(LoadsAhead, NotWithoutStagesOrRoom) {
  for (const std::string &text : {lowered_product(cast, "", 1), lowered_product(cast, "", 2, false)}) {
    EXPECT_THAT(text, Not(HasSubstr(": tile<f32, 32, 16> = @a[")));
    EXPECT_THAT(text, HasSubstr("load @a["));
  }
}

// Lowering reports whether loading ahead changes the kernel.
TEST(LoadsAhead, AreTold) {
  for (const auto &[makes, after, stages] :
       {std::tuple{cast, "", 2}, std::tuple{cast, "", 1}, std::tuple{cast, "store @d[0, %2] = 1.0", 2}}) {
    const bool more = lower_tiles_and_tell(structured_product(makes, after, stages), gpu_architecture(90)).loads_more;
    EXPECT_EQ(more, lowered_product(makes, after, stages) != lowered_product(makes, after, stages, false))
        << makes << after << stages;
  }
}

TEST(LoadsAhead, NotWhereTheLoopStores) {
  EXPECT_THAT(lowered_product(cast, "store @d[0, %2] = 1.0"), Not(HasSubstr(": tile<f32, 32, 16> = @a[")));
}

// Results of an iteration are not known when the previous one begins.
TEST(LoadsAhead, NotOfWhatTheLoopCarries) {
  EXPECT_THAT(lowered_product("%10: f32 = reduce_add %3 %11: i32 = cast %10 %12: tile<f32, 32, 16> = load @d[%11, 0]\n"
                              "%7: tile<bf16, 32, 16> = cast %12"),
              HasSubstr("load @d["));
}

// Nor are results of a branch; the verifier sees that nothing comes before it.
TEST(LoadsAhead, NotOfWhatABranchGives) {
  EXPECT_THAT(lowered_product("%10: bool = lt %2, 3 if %10 -> (%11: i32 = 0 | %4) {} else {}\n"
                              "%12: tile<f32, 32, 16> = load @d[%11, 0] %7: tile<bf16, 32, 16> = cast %12"),
              HasSubstr("load @d["));
}

TEST(LoadsAhead, NotWhereSomethingElseReadsIt) {
  EXPECT_THAT(lowered_product(cast + "\n%10: f32 = reduce_add %5"), Not(HasSubstr("tile_call cast")));
}

}  // namespace
}  // namespace samite::passes
