// Constants that derivative rules leave one after another.
#include "samite/passes/simplify/simplify.h"
#include "tests/passes/transformed.h"

namespace samite::passes {
namespace {

std::string difference_of_scales(const std::string &before, const std::string &after) {
  return test::difference_after(simplify_adjoint, before, after);
}

TEST(Scales, PowersOfTwoAndSignsAreOneScale) {
  EXPECT_EQ(difference_of_scales(R"(
      %0: f32 = mul @x, @x
      %1: f32 = mul %0, -0.5
      %2: f32 = mul 4.0, %1
      %3: f32 = neg %2
      store @a[0] = %3)",
                                 R"(
      %0: f32 = mul @x, @x
      %1: f32 = mul %0, 2.0
      store @a[0] = %1)"),
            "");
}

TEST(Scales, ThatComeToOneOrMinusOneAreNoProduct) {
  EXPECT_EQ(difference_of_scales(R"(
      %0: f32 = mul @x, @x
      %1: f32 = mul %0, -0.5
      %2: f32 = mul %1, 2.0
      %3: f32 = mul %1, -2.0
      store @a[0] = %2
      store @a[1] = %3)",
                                 R"(
      %0: f32 = mul @x, @x
      %1: f32 = neg %0
      store @a[0] = %1
      store @a[1] = %0)"),
            "");
}

// To the last bit the same, or not merged; and never in a kernel that a user wrote.
TEST(Scales, OthersStay) {
  const char *rounded = "%0: f32 = mul @x, 3.0 %1: f32 = mul %0, 2.0 store @a[0] = %1";
  EXPECT_EQ(difference_of_scales(rounded, rounded), "");
  const char *large = "%0: f32 = mul @x, 1048576.0 %1: f32 = mul %0, 4.0 store @a[0] = %1";
  EXPECT_EQ(difference_of_scales(large, large), "");
  const char *forward = "%0: f32 = mul @x, 0.5 %1: f32 = mul %0, 2.0 store @a[0] = %1";
  EXPECT_EQ(test::difference_after(simplify, forward, forward), "");
}

}  // namespace
}  // namespace samite::passes
