// Loops whose index may overflow count their iterations; all others are unchanged.
#include "samite/passes/simplify/number_iterations.h"

#include "samite/ir/print.h"
#include "tests/passes/transformed.h"

#include <gmock/gmock.h>

namespace samite::passes {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// The text of a loop with these bounds after the pass.
std::string numbered(const std::string &bounds, const std::string &body = "store @out[%0] = 1") {
  const ir::Kernel kernel =
      number_iterations(test::kernel_of("for %0: i32 in " + bounds + " { " + body + " }", ir::Form::captured));
  ir::verify(kernel, ir::Form::captured, "number_iterations");
  return ir::to_string(kernel);
}

TEST(NumberIterations, LoopsInSingleStepsStay) {
  EXPECT_THAT(numbered("0 .. @n step 1"), HasSubstr("for %0: i32 in 0 .. @n step 1"));
  EXPECT_THAT(numbered("@n .. 0 step -1"), HasSubstr("for %0: i32 in @n .. 0 step -1"));
}

TEST(NumberIterations, ConstantBoundsWithRoomForAStepStay) {
  EXPECT_THAT(numbered("0 .. 100 step 3"), HasSubstr("for %0: i32 in 0 .. 100 step 3"));
}

TEST(NumberIterations, ConstantBoundsNextToTheLargestNumberAreCounted) {
  const std::string text = numbered("2147483640 .. 2147483647 step 5");
  EXPECT_THAT(text, Not(HasSubstr("step 5")));
  EXPECT_THAT(text, HasSubstr("step 1"));
}

TEST(NumberIterations, AnEndThatIsNotKnownIsCountedAndTheIndexComputed) {
  const std::string text = numbered("0 .. @n step 3");
  EXPECT_THAT(text, Not(HasSubstr("step 3")));
  EXPECT_THAT(text, HasSubstr("step 1"));
  EXPECT_THAT(text, HasSubstr("%0: i32 = add"));
  EXPECT_THAT(text, HasSubstr("store @out[%0] = 1"));
}

// From the smallest i32 to the largest there are 2^31 steps of 2.
TEST(NumberIterations, StepsOfTwoFromAnUnknownBeginAreCountedIn64Bits) {
  EXPECT_THAT(numbered("@i .. @n step 2"), HasSubstr(": i64 in 0"));
  EXPECT_THAT(numbered("@i .. @n step 3"), Not(HasSubstr(": i64 in 0")));
  EXPECT_THAT(numbered("0 .. @n step 2"), Not(HasSubstr(": i64 in 0"))) << "it begins inside of the numbers";
}

TEST(NumberIterations, LoopsInsideOfOthersToo) {
  const std::string text = numbered("0 .. @n step 1", "if @p { for %1: i32 in 0 .. @n step 7 { store @out[%1] = 1 } }");
  EXPECT_THAT(text, HasSubstr("for %0: i32 in 0 .. @n step 1"));
  EXPECT_THAT(text, Not(HasSubstr("step 7")));
}

}  // namespace
}  // namespace samite::passes
