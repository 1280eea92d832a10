// Unneeded code is removed; code with an effect, and all that it needs, stays.

#include "samite/passes/simplify/dead_code.h"

#include "tests/passes/transformed.h"

namespace samite::passes {
namespace {

std::string difference_without_dead_code(const char *before, const char *after) {
  return test::difference_after(remove_dead_code, before, after);
}

std::string dead_code_in(const char *kernel) { return difference_without_dead_code(kernel, kernel); }

TEST(DeadCode, UnneededValuesGoWithAllThatOnlyTheyNeed) {
  EXPECT_EQ(difference_without_dead_code(R"(
      %0: f32 = load @a[0]
      %1: f32 = load @b[0]
      %2: f32 = add %0, %1
      %3: f32 = mul %2, 2.0
      store @a[1] = %0)",
                                         R"(
      %0: f32 = load @a[0]
      store @a[1] = %0)"),
            "");
}

TEST(DeadCode, EffectsStayThoughNobodyReadsThem) {
  EXPECT_EQ(dead_code_in(R"(
      %0: i32 = add @i, 1
      store @a[%0] = 0.0
      %1: i32 = add @i, 2
      accumulate @a[%1] += @x
      %2: i32 = add @i, 3
      accumulate atomic @a[%2] += @x
      %3: i32 = add @i, 4
      %4: f32 = exchange @a[%3])"),
            "");
}

TEST(DeadCode, AtomicStepsStayThoughNobodyReadsWhatWasThereBefore) {
  EXPECT_EQ(dead_code_in(R"(
      %0: i32 = add @i, 1
      %1: f32 = atomic_max @a[%0], @x
      %2: f32 = atomic_exchange @a[%0], 2.0
      %3: f32 = atomic_compare_exchange @a[%0], 2.0, @x)"),
            "");
}

TEST(DeadCode, AnAtomicAdditionWhoseOldValueNobodyReadsIsAnAccumulation) {
  EXPECT_EQ(difference_without_dead_code(R"(
      %0: i32 = add @i, 1
      %1: f32 = atomic_add @a[%0], @x
      %2: f32 = atomic_add @a[@i], @x
      store @a[0] = %2)",
                                         R"(
      %0: i32 = add @i, 1
      accumulate atomic @a[%0] += @x
      %1: f32 = atomic_add @a[@i], @x
      store @a[0] = %1)"),
            "");
}

TEST(DeadCode, PrintsAndChecksStayWithWhatTheySay) {
  EXPECT_EQ(dead_code_in(R"(
      %0: i32 = add @i, 1
      print "i + 1 is ", %0
      %1: f32 = load @a[@i]
      %2: bool = gt %1, 0.0
      %3: f32 = mul %1, 2.0
      check %2, "twice a is ", %3)"),
            "");
}

TEST(DeadCode, AnEffectKeepsTheBranchesAndLoopsAroundIt) {
  EXPECT_EQ(dead_code_in(R"(
      %0: i32 = mul @n, 2
      for %1: i32 in 0 .. %0 step 1 {
        %2: bool = gt %1, 3
        if %2 {} else {
          while {
            %3: f32 = load @a[0]
            %4: bool = lt %3, 1.0
          } test %4 {
            accumulate @a[0] += 0.25
          }
        }
      })"),
            "");
}

TEST(DeadCode, BranchesAndLoopsWithoutEffectGo) {
  EXPECT_EQ(difference_without_dead_code(R"(
      if @p -> (%1: f32 = %0 | @x) {
        %0: f32 = load @a[0]
      }
      for %2: i32 in 0 .. @n step 1 carry (%3 -> %5: f32 = %1 then %4) {
        %4: f32 = mul %3, 2.0
      }
      while {} test true {}
      store @a[0] = @x)",
                                         "store @a[0] = @x"),
            "");
}

TEST(DeadCode, ResultsOfABranchGoOneByOne) {
  EXPECT_EQ(difference_without_dead_code(R"(
      if @p -> (%2: f32 = %0 | 1.0, %3: f32 = %1 | 2.0) {
        %0: f32 = load @a[0]
        %1: f32 = load @b[0]
      } else {
        %4: f32 = load @b[1]
      }
      store @a[1] = %3)",
                                         R"(
      if @p -> (%3: f32 = %1 | 2.0) {
        %1: f32 = load @b[0]
      } else {
      }
      store @a[1] = %3)"),
            "");
}

TEST(DeadCode, ABranchWithAnEffectLosesItsUnneededResults) {
  EXPECT_EQ(difference_without_dead_code(R"(
      if @p -> (%1: f32 = %0 | 1.0) {
        %0: f32 = load @a[0]
        store @a[1] = 2.0
      })",
                                         R"(
      if @p {
        store @a[1] = 2.0
      })"),
            "");
}

TEST(DeadCode, CarriedValuesGoOneByOne) {
  EXPECT_EQ(difference_without_dead_code(R"(
      for %0: i32 in 0 .. @n step 1 carry (%1 -> %3: f32 = @x then %2, %4 -> %6: f32 = 1.0 then %5) {
        %2: f32 = mul %1, 2.0
        %5: f32 = mul %4, 3.0
      }
      while carry (%7 -> %9: f32 = @x then %8, %10 -> %12: f32 = %6 then %11) {
        %13: bool = lt %10, 9.0
      } test %13 {
        %8: f32 = add %7, 1.0
        %11: f32 = add %10, 1.0
      }
      store @a[0] = %12)",
                                         R"(
      for %0: i32 in 0 .. @n step 1 carry (%4 -> %6: f32 = 1.0 then %5) {
        %5: f32 = mul %4, 3.0
      }
      while carry (%10 -> %12: f32 = %6 then %11) {
        %13: bool = lt %10, 9.0
      } test %13 {
        %11: f32 = add %10, 1.0
      }
      store @a[0] = %12)"),
            "");
}

TEST(DeadCode, ACarriedValueThatAnotherNeedsStays) {
  EXPECT_EQ(dead_code_in(R"(
      for %0: i32 in 0 .. @n step 1 carry (%1 -> %3: f32 = 0.0 then %2, %2 -> %4: f32 = @x then %1) {
      }
      store @a[0] = %3)"),
            "");
}

TEST(DeadCode, ACarriedValueThatOnlyTheConditionNeedsStays) {
  EXPECT_EQ(dead_code_in(R"(
      while carry (%0 -> %3: i32 = @n then %2) {
        %1: bool = gt %0, 0
      } test %1 {
        %2: i32 = sub %0, 1
        accumulate @a[0] += @x
      })"),
            "");
}

TEST(DeadCode, ALoopThatOnlyComputesItsResultStaysForIt) {
  EXPECT_EQ(difference_without_dead_code(R"(
      for %0: i32 in 0 .. @n step 1 carry (%1 -> %2: i32 = 0 then %0) {
        %3: f32 = load @a[%0]
      }
      store @out[0] = %2)",
                                         R"(
      for %0: i32 in 0 .. @n step 1 carry (%1 -> %2: i32 = 0 then %0) {
      }
      store @out[0] = %2)"),
            "");
}

TEST(DeadCode, AnEffectInAConditionKeepsTheLoop) {
  EXPECT_EQ(difference_without_dead_code(R"(
      while {
        %0: f32 = exchange @a[0]
        %1: bool = gt %0, 0.0
      } test %1 {
        %2: f32 = load @b[0]
      })",
                                         R"(
      while {
        %0: f32 = exchange @a[0]
        %1: bool = gt %0, 0.0
      } test %1 {
      })"),
            "");
}

// Statements are handles to shared nodes: one node may occur in two places.
TEST(DeadCode, AStatementThatStandsInTwoPlacesStaysInBoth) {
  ir::Kernel kernel = test::kernel_of("if @p { accumulate @a[0] += 1.0 }");
  kernel.body.push_back(kernel.body[0]);
  EXPECT_EQ(structural_difference(remove_dead_code(kernel), kernel), "");
}

TEST(DeadCode, WhereEverythingIsNeededThereIsNoOtherBody) {
  EXPECT_FALSE(without_dead_code(test::kernel_of(R"(
      %0: f32 = atomic_add @a[0], 1.0
      for %1: i32 in 0 .. @n step 1 carry (%2 -> %3: f32 = %0 then %4) { %4: f32 = mul %2, @x }
      store @a[1] = %3)")));
  const char *unused_results[] = {"%0: f32 = atomic_add @a[0], 1.0",
                                  "if @p -> (%0: f32 = 1.0 | 2.0) { store @a[0] = 1.0 }",
                                  R"(for %0: i32 in 0 .. @n step 1 carry (%1 -> %2: f32 = 0.0 then %3) {
                                       %3: f32 = mul %1, @x
                                       store @a[0] = 1.0
                                     })"};
  for (const char *text : unused_results) EXPECT_TRUE(without_dead_code(test::kernel_of(text))) << text;
}

TEST(DeadCode, ALocalArrayThatNobodyReadsGoesWithItsStores) {
  EXPECT_EQ(difference_without_dead_code(R"(
      local $0: f32[4]
      local $1: f32[4]
      %0: f32 = load @a[1]
      local_store $0[0] = %0
      %1: f32 = local_load $0[1]
      for %2: i32 in 0 .. @n step 1 { local_store $1[%2] = @x }
      %3: f32 = local_load $1[3]
      store @a[0] = %3)",
                                         R"(
      local $0: f32[4]
      for %0: i32 in 0 .. @n step 1 { local_store $0[%0] = @x }
      %1: f32 = local_load $0[3]
      store @a[0] = %1)"),
            "");
}

}  // namespace
}  // namespace samite::passes
