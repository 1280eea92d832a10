// From captured to structured form.

#include "samite/passes/simplify/promote.h"

#include "samite/base/error.h"
#include "samite/ir/print.h"
#include "tests/passes/transformed.h"
#include "tests/runtime/message_of.h"

namespace samite::passes {
namespace {

using ir::Form;
using ir::Kernel;
using ::testing::HasSubstr;

std::string difference_promoted(const char *captured, const char *structured) {
  return test::difference_after(promote, captured, structured, Form::captured);
}

TEST(Promote, CopiesAndStraightLineAssignmentsBecomeTheValuesThemselves) {
  EXPECT_EQ(difference_promoted(R"(
      %0: i32 = copy @i
      %1: i32 = copy %0
      %2: i32 = add %1, 1
      assign %0 = %2
      %3: i32 = mul %0, %1
      store @out[%0] = %3)",
                                R"(
      %0: i32 = add @i, 1
      %1: i32 = mul %0, @i
      store @out[%0] = %1)"),
            "");
}

TEST(Promote, ACopyKeepsTheValueThatItsSourceHadThen) {
  EXPECT_EQ(difference_promoted(R"(
      %0: i32 = copy 1
      %1: i32 = copy %0
      assign %0 = 2
      store @out[%1] = %0)",
                                "store @out[1] = 2"),
            "");
}

TEST(Promote, WhatOneSideOfABranchAssignsIsAResult) {
  EXPECT_EQ(difference_promoted(R"(
      %0: f32 = load @a[0]
      if @p { assign %0 = @x }
      store @a[0] = %0)",
                                R"(
      %0: f32 = load @a[0]
      if @p -> (%1: f32 = @x | %0) {}
      store @a[0] = %1)"),
            "");
}

TEST(Promote, WhatBothSidesAssignIsOneResult) {
  EXPECT_EQ(difference_promoted(R"(
      %0: i32 = copy 0
      if @p {
        %1: i32 = add @i, 1
        assign %0 = %1
      } else {
        assign %0 = 7
      }
      store @out[0] = %0)",
                                R"(
      if @p -> (%1: i32 = %0 | 7) {
        %0: i32 = add @i, 1
      } else {}
      store @out[0] = %1)"),
            "");
}

TEST(Promote, TheSecondSideStartsFromTheValuesBeforeTheBranch) {
  EXPECT_EQ(difference_promoted(R"(
      %0: i32 = copy @i
      if @p { assign %0 = 1 } else { store @out[0] = %0 })",
                                R"(
      if @p -> (%0: i32 = 1 | @i) {} else { store @out[0] = @i })"),
            "");
}

TEST(Promote, WhereBothSidesLeaveTheSameValueThereIsNoResult) {
  EXPECT_EQ(difference_promoted(R"(
      %0: i32 = copy 0
      if @p { assign %0 = @n } else { assign %0 = @n }
      store @out[0] = %0)",
                                R"(
      if @p {} else {}
      store @out[0] = @n)"),
            "");
}

TEST(Promote, LocalsOfABlockAreNotItsResults) {
  EXPECT_EQ(difference_promoted(R"(
      if @p {
        %0: i32 = copy 0
        assign %0 = @i
        store @out[0] = %0
      }
      for %1: i32 in 0 .. @n step 1 {
        %2: i32 = copy %1
        assign %2 = 3
        store @out[1] = %2
      })",
                                R"(
      if @p { store @out[0] = @i }
      for %1: i32 in 0 .. @n step 1 { store @out[1] = 3 })"),
            "");
}

TEST(Promote, WhatALoopAssignsIsCarried) {
  EXPECT_EQ(difference_promoted(R"(
      %0: f32 = copy 0.0
      for %1: i32 in 0 .. @n step 1 {
        %2: f32 = load @a[%1]
        %3: f32 = add %0, %2
        assign %0 = %3
      }
      store @a[0] = %0)",
                                R"(
      for %2: i32 in 0 .. @n step 1 carry (%1 -> %5: f32 = 0.0 then %4) {
        %3: f32 = load @a[%2]
        %4: f32 = add %1, %3
      }
      store @a[0] = %5)"),
            "");
}

TEST(Promote, WhatALoopOnlyReadsIsNotCarried) {
  EXPECT_EQ(difference_promoted(R"(
      %0: f32 = load @a[0]
      for %1: i32 in 0 .. @n step 1 { store @b[%1] = %0 })",
                                R"(
      %0: f32 = load @a[0]
      for %1: i32 in 0 .. @n step 1 { store @b[%1] = %0 })"),
            "");
}

TEST(Promote, ValuesThatChangePlacesInALoopDoSoAtOnce) {
  EXPECT_EQ(difference_promoted(R"(
      %0: i32 = copy 0
      %1: i32 = copy 1
      for %2: i32 in 0 .. @n step 1 {
        %3: i32 = copy %0
        assign %0 = %1
        assign %1 = %3
      }
      store @out[%0] = %1)",
                                R"(
      for %2: i32 in 0 .. @n step 1 carry (%0 -> %3: i32 = 0 then %1, %1 -> %4: i32 = 1 then %0) {}
      store @out[%3] = %4)"),
            "");
}

TEST(Promote, NestedLoopsCarryOnFromOneAnother) {
  EXPECT_EQ(difference_promoted(R"(
      %0: i32 = copy 0
      for %1: i32 in 0 .. @n step 1 {
        for %2: i32 in 0 .. %1 step 1 {
          %3: i32 = add %0, %2
          assign %0 = %3
        }
      }
      store @out[0] = %0)",
                                R"(
      for %1: i32 in 0 .. @n step 1 carry (%0 -> %6: i32 = 0 then %5) {
        for %3: i32 in 0 .. %1 step 1 carry (%2 -> %5: i32 = %0 then %4) {
          %4: i32 = add %2, %3
        }
      }
      store @out[0] = %6)"),
            "");
}

TEST(Promote, ABranchInALoopGivesTheNextValue) {
  EXPECT_EQ(difference_promoted(R"(
      %0: i32 = copy 0
      for %1: i32 in 0 .. @n step 1 {
        %2: bool = gt %1, 3
        if %2 { assign %0 = %1 }
      }
      store @out[0] = %0)",
                                R"(
      for %1: i32 in 0 .. @n step 1 carry (%0 -> %4: i32 = 0 then %3) {
        %2: bool = gt %1, 3
        if %2 -> (%3: i32 = %1 | %0) {}
      }
      store @out[0] = %4)"),
            "");
}

TEST(Promote, AWhileSeesWhatItCarriesInConditionAndBody) {
  EXPECT_EQ(difference_promoted(R"(
      %0: f32 = copy @x
      while {
        %1: bool = gt %0, 1.0
      } test %1 {
        %2: f32 = mul %0, 0.5
        assign %0 = %2
      }
      store @a[0] = %0)",
                                R"(
      while carry (%0 -> %3: f32 = @x then %2) {
        %1: bool = gt %0, 1.0
      } test %1 {
        %2: f32 = mul %0, 0.5
      }
      store @a[0] = %3)"),
            "");
}

TEST(Promote, WhatAConditionDefinesIsComputedAnewAndNotCarried) {
  EXPECT_EQ(difference_promoted(R"(
      while {
        %0: i32 = load @out[0]
        %1: bool = gt %0, 0
      } test %1 {
        %2: i32 = sub %0, 1
        assign %0 = %2
        store @out[0] = %0
      })",
                                R"(
      while {
        %0: i32 = load @out[0]
        %1: bool = gt %0, 0
      } test %1 {
        %2: i32 = sub %0, 1
        store @out[0] = %2
      })"),
            "");
}

TEST(Promote, AConditionMayAssignItsOwnLocals) {
  EXPECT_EQ(difference_promoted(R"(
      while {
        %0: i32 = load @out[0]
        if @p { assign %0 = 0 }
        %1: bool = gt %0, 0
      } test %1 {})",
                                R"(
      while {
        %0: i32 = load @out[0]
        if @p -> (%1: i32 = 0 | %0) {}
        %2: bool = gt %1, 0
      } test %2 {})"),
            "");
}

TEST(Promote, AConditionThatAssignsALocalFromOutsideIsRefused) {
  Kernel kernel = test::kernel_of(R"(
      %0: i32 = copy 9
      while at "countdown.cpp":12 {
        %1: i32 = sub %0, 1
        for %2: i32 in 0 .. 1 step 1 { assign %0 = %1 }
        %3: bool = gt %1, 0
      } test %3 {})",
                                  Form::captured);
  std::string message = message_of<UserError>([&] { promote(kernel); });
  EXPECT_THAT(message, HasSubstr("countdown.cpp:12: the condition of this while_ assigns a local"));
  EXPECT_THAT(message, HasSubstr("assign it in the body, or declare it inside"));
}

// As in an adjoint, which is written in captured form around structured parts of its kernel.
TEST(Promote, ResultsAndCarriedValuesThatAreThereAlreadyStayFirst) {
  EXPECT_EQ(difference_promoted(R"(
      %0: i32 = copy 0
      if @p -> (%2: f32 = %1 | 0.0) {
        %1: f32 = neg @x
        assign %0 = 1
      }
      for %3: i32 in 0 .. @n step 1 carry (%4 -> %6: f32 = %2 then %5) {
        %5: f32 = mul %4, 2.0
        %7: i32 = add %0, %3
        assign %0 = %7
      }
      while carry (%8 -> %10: f32 = %6 then %9) {
      } test @p {
        %9: f32 = mul %8, 2.0
        assign %0 = 5
      }
      store @a[%0] = %10)",
                                R"(
      if @p -> (%1: f32 = %0 | 0.0, %2: i32 = 1 | 0) {
        %0: f32 = neg @x
      }
      for %5: i32 in 0 .. @n step 1 carry (%3 -> %8: f32 = %1 then %6, %4 -> %9: i32 = %2 then %7) {
        %6: f32 = mul %3, 2.0
        %7: i32 = add %4, %5
      }
      while carry (%10 -> %13: f32 = %8 then %12, %11 -> %14: i32 = %9 then 5) {
      } test @p {
        %12: f32 = mul %10, 2.0
      }
      store @a[%14] = %13)"),
            "");
}

TEST(Promote, LocalsAreNumberedDenselyAndStatementsKeepTheirLines) {
  Kernel kernel = promote(test::kernel_of(R"(
      %70: f32 = load @a[0] at "a.cpp":1
      %30: f32 = copy %70 at "a.cpp":2
      if @p at "a.cpp":3 { assign %30 = 1.0 at "a.cpp":4 }
      accumulate atomic @a[1] += %30 at "a.cpp":5)",
                                          Form::captured));
  EXPECT_EQ(kernel.local_count, 2u);
  EXPECT_EQ(to_string(kernel.body, kernel.parameters, {.locations = true}),
            "%0: f32 = load @a[0] at \"a.cpp\":1\n"
            "if @p -> (%1: f32 = 1.0 | %0) at \"a.cpp\":3 {\n"
            "}\n"
            "accumulate atomic @a[1] += %1 at \"a.cpp\":5\n");
}

TEST(Promote, LocalArraysStayAsTheyAre) {
  EXPECT_EQ(difference_promoted(R"(
      local $1: f32[4]
      %0: f32 = copy @x
      local_store $1[0] = %0
      assign %0 = 2.0
      %1: f32 = local_load $1[0]
      %2: f32 = add %1, %0
      store @a[0] = %2)",
                                R"(
      local $1: f32[4]
      local_store $1[0] = @x
      %0: f32 = local_load $1[0]
      %1: f32 = add %0, 2.0
      store @a[0] = %1)"),
            "");
}

}  // namespace
}  // namespace samite::passes
