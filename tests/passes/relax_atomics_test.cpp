// Additions to gradients without atomics, if no two instances share an element.

#include "samite/passes/adjoint/relax_atomics.h"

#include "samite/ir/difference.h"
#include "samite/ir/parse.h"
#include "samite/ir/print.h"
#include "samite/ir/verify.h"

#include <gtest/gtest.h>

namespace samite::passes {
namespace {

using namespace ir;

// An adjoint over a launch of two dimensions.
ir::Kernel adjoint_over_launch(const std::string &body) {
  ir::Kernel kernel = parse_kernel(
      "kernel @k(@a: array<const f32, 2>, @n: i32, @f: f32, @other: array<f32, 2>, "
      "@g: gradient of @a array<f32, 2>, @h: gradient of @a array<f32, 2>, @s: gradient of @f array<f32, 1>) "
      "threads 2 { %0: i32 = thread_index 0 %1: i32 = thread_index 1 " +
      body + "}");
  verify(kernel, Form::structured, "the test");
  return kernel;
}

// The number of atomic accesses in the body after the pass. Any other change is a failure.
int atomics_after(const std::string &body) {
  ir::Kernel kernel = adjoint_over_launch(body);
  ir::Kernel relaxed = relax_atomics(kernel);
  verify(relaxed, Form::structured, "relax_atomics");
  std::string text = to_string(relaxed), before = to_string(kernel);
  int atomics = 0;
  const std::string word = " atomic";
  for (std::size_t at = 0; (at = text.find(word, at)) != std::string::npos; text.erase(at, word.size())) ++atomics;
  for (std::size_t at = 0; (at = before.find(word, at)) != std::string::npos;) before.erase(at, word.size());
  EXPECT_EQ(text, before);
  return atomics;
}

TEST(RelaxAtomics, EachInstanceWithItsOwnElementNeedsNone) {
  EXPECT_EQ(atomics_after(R"(
      %2: f32 = exchange atomic @g[%0, %1]
      accumulate atomic @g[%0, %1] += %2)"),
            0);
}

TEST(RelaxAtomics, DimensionsMayChangePlaces) { EXPECT_EQ(atomics_after("accumulate atomic @g[%1, %0] += @f"), 0); }

TEST(RelaxAtomics, AShiftThatIsTheSameForAllKeepsInstancesApart) {
  EXPECT_EQ(atomics_after(R"(
      %2: i32 = extent @a, 0
      %3: i32 = mul %2, @n
      %4: i32 = add %0, %3
      %5: i32 = add -2, %4
      %6: i32 = sub %1, 1
      accumulate atomic @g[%5, %6] += @f)"),
            0);
}

// Whatever wraps around on the way to it: it is the same for all.
TEST(RelaxAtomics, AShiftMayBeAQuotient) {
  EXPECT_EQ(atomics_after(R"(
      %2: i32 = add @n, 3
      %3: i32 = div %2, 4
      %4: i32 = max %3, 0
      %5: i32 = sub %4, %0
      accumulate atomic @g[%5, %1] += @f)"),
            0);
}

TEST(RelaxAtomics, WideningAnIndexKeepsInstancesApart) {
  EXPECT_EQ(atomics_after(R"(
      %2: i64 = cast %0
      %3: i64 = add %2, 1:i64
      accumulate atomic @g[%3, %1] += @f)"),
            0);
}

TEST(RelaxAtomics, NestedAccessesAreRelaxedToo) {
  EXPECT_EQ(atomics_after(R"(
      %2: bool = lt %0, @n
      if %2 {
        accumulate atomic @g[%0, %1] += @f
      } else {
        for %3: i32 in 0 .. @n step 1 { accumulate atomic @g[%0, %1] += @f }
        while { accumulate atomic @g[%0, %1] += @f } test %2 { accumulate atomic @g[%0, %1] += @f }
      })"),
            0);
}

TEST(RelaxAtomics, ALaunchDimensionThatIsMissingLetsInstancesMeet) {
  EXPECT_EQ(atomics_after("accumulate atomic @g[%0, %0] += @f"), 1);
  EXPECT_EQ(atomics_after("accumulate atomic @g[0, %1] += @f"), 1);
  EXPECT_EQ(atomics_after("accumulate atomic @s[0] += @f"), 1);
}

TEST(RelaxAtomics, TwoPlacesThatDifferLetInstancesMeet) {
  EXPECT_EQ(atomics_after(R"(
      %2: i32 = add %1, 1
      accumulate atomic @g[%0, %1] += @f
      accumulate atomic @g[%0, %2] += @f)"),
            2);
}

TEST(RelaxAtomics, AnArrayThatIsReadElsewhereStaysAtomic) {
  EXPECT_EQ(atomics_after(R"(
      %2: f32 = load @g[%1, %0]
      accumulate atomic @g[%0, %1] += %2)"),
            1);
}

TEST(RelaxAtomics, OneArraySaysNothingOfAnother) {
  EXPECT_EQ(atomics_after(R"(
      accumulate atomic @g[%0, %1] += @f
      accumulate atomic @h[%1, %1] += @f)"),
            1);
}

TEST(RelaxAtomics, TheUsersOwnAtomicsStay) { EXPECT_EQ(atomics_after("accumulate atomic @other[%0, %1] += @f"), 1); }

TEST(RelaxAtomics, AnIndexThatIsNotOneToOneStaysAtomic) {
  for (const char *index :
       {"%2: i32 = mul %0, @n", "%2: i32 = div %0, 2", "%2: i32 = rem %0, @n", "%2: i32 = add %0, %1",
        "%2: i32 = sub %0, %0", "%2: i32 = select true, %0, 0", "%2: i32 = min %0, 4",
        "%3: i16 = cast %0 %2: i32 = cast %3", "%3: bool = cast %0 %2: i32 = cast %3",
        "%3: f32 = load @a[%0, %1] %2: i32 = cast %3", "if true -> (%2: i32 = %0 | 0) {}"})
    EXPECT_EQ(atomics_after(std::string(index) + " accumulate atomic @g[%2, %1] += @f"), 1) << index;
}

// Instances have numbers below 2^31. Twice a number is another one for each of them, modulo 2^32, but not four times.
TEST(RelaxAtomics, AMultipleIsOneToOneWhereNoTwoWrapAroundToOne) {
  for (const char *index : {"%2: i32 = mul %0, 2", "%2: i32 = add %0, %0", "%2: i32 = mul 3, %0",
                            "%3: i32 = mul %0, -6 %2: i32 = add %3, @n", "%3: i64 = cast %0 %2: i64 = mul %3, 4:i64"})
    EXPECT_EQ(atomics_after(std::string(index) + " accumulate atomic @g[%2, %1] += @f"), 0) << index;
  for (const char *index : {"%2: i32 = mul %0, 4", "%2: i32 = mul 12, %0", "%3: i32 = mul %0, 2 %2: i32 = add %3, %3",
                            "%3: i32 = mul %0, 4 %2: i64 = cast %3"})
    EXPECT_EQ(atomics_after(std::string(index) + " accumulate atomic @g[%2, %1] += @f"), 1) << index;
}

TEST(RelaxAtomics, IndicesOfOneFormAreOneIndex) {
  EXPECT_EQ(atomics_after(R"(
      %2: i32 = add %0, @n  %3: i32 = add @n, %0
      accumulate atomic @g[%2, %1] += @f
      accumulate atomic @g[%3, %1] += @f)"),
            0);
}

TEST(RelaxAtomics, AnIndexThatCountsDownIsOneToOne) {
  EXPECT_EQ(atomics_after("%2: i32 = sub @n, %0 accumulate atomic @g[%2, %1] += @f"), 0);
  EXPECT_EQ(atomics_after("%2: i32 = sub @n, %0 %3: i32 = sub @n, %2 accumulate atomic @g[%3, %1] += @f"), 0);
  // Two instances share an element if one counts up and the other down.
  EXPECT_EQ(atomics_after("%2: i32 = sub 7, %0 accumulate atomic @g[%2, %1] += @f accumulate atomic @g[%0, %1] += @f"),
            2);
}

// A float holds 24 bits: large indices become one, and a large summand makes all of them one.
TEST(RelaxAtomics, AnIndexThroughAFloatStaysAtomic) {
  EXPECT_EQ(atomics_after(R"(
      %2: f32 = cast %0
      %3: f32 = add %2, 1e9
      %4: i32 = cast %3
      accumulate atomic @g[%4, %1] += @f)"),
            1);
  EXPECT_EQ(atomics_after(R"(
      %2: f32 = cast %0
      %3: i32 = cast %2
      accumulate atomic @g[%3, %1] += @f)"),
            1);
}

TEST(RelaxAtomics, ALoopsIndexStaysAtomic) {
  EXPECT_EQ(atomics_after("for %2: i32 in 0 .. @n step 1 { accumulate atomic @g[%0, %2] += @f }"), 1);
  EXPECT_EQ(atomics_after(R"(
      for %2: i32 in 0 .. @n step 1 {
        %3: i32 = add %0, %2
        accumulate atomic @g[%3, %1] += @f
      })"),
            1);
  EXPECT_EQ(atomics_after(R"(
      for %2: i32 in 0 .. @n step 1 carry (%3 -> %4: i32 = %0 then %5) {
        %5: i32 = add %3, 1
        accumulate atomic @g[%3, %1] += @f
      })"),
            1);
}

// The last index distinguishes all instances in each access; the first may differ between accesses.
TEST(RelaxAtomics, ComponentsOfTheInstancesOwnVectorNeedNone) {
  ir::Kernel kernel = parse_kernel(R"(
      kernel @k(@a: array<const f32, 2>, @n: i32, @g: gradient of @a array<f32, 2>) threads 1 {
        %0: i32 = thread_index 0
        %1: f32 = exchange atomic @g[0, %0]
        accumulate atomic @g[1, %0] += %1
        for %2: i32 in 0 .. @n step 1 {
          %3: f32 = load @g[%2, %0]
          accumulate atomic @g[2, %0] += %3
        }
      })");
  EXPECT_EQ(to_string(relax_atomics(kernel)).find("atomic"), std::string::npos);
}

TEST(RelaxAtomics, OneShiftWrittenInTwoWaysIsOne) {
  EXPECT_EQ(atomics_after(R"(
      %2: i32 = add %0, 1
      %3: i64 = cast %0
      %4: i64 = sub %3, -1:i64
      accumulate atomic @g[%2, %1] += @f
      accumulate atomic @g[%4, %1] += @f)"),
            0);
}

TEST(RelaxAtomics, ShiftsThatAreNotKnownToBeEqualLetInstancesMeet) {
  EXPECT_EQ(atomics_after(R"(
      %2: i32 = add %0, @n
      accumulate atomic @g[%0, %1] += @f
      accumulate atomic @g[%2, %1] += @f)"),
            2);
  EXPECT_EQ(atomics_after(R"(
      %2: i32 = extent @a, 0
      %3: i32 = add %0, @n
      %4: i32 = add %0, %2
      accumulate atomic @g[%3, %1] += @f
      accumulate atomic @g[%4, %1] += @f)"),
            2);
  EXPECT_EQ(atomics_after(R"(
      accumulate atomic @g[%0, %1] += @f
      accumulate atomic @g[%1, %0] += @f)"),
            2);
}

// The first index distinguishes all instances; the second may then be anything.
TEST(RelaxAtomics, OneDimensionOfTheLaunchInAnArrayOfTwo) {
  ir::Kernel kernel = parse_kernel(R"(
      kernel @k(@a: array<const f32, 2>, @n: i32, @g: gradient of @a array<f32, 2>) threads 1 {
        %0: i32 = thread_index 0
        %1: i32 = rem %0, @n
        accumulate atomic @g[%0, %1] += 1.0
      })");
  EXPECT_EQ(to_string(relax_atomics(kernel)).find("atomic"), std::string::npos);
}

}  // namespace
}  // namespace samite::passes
