// Jumps become branches, and loops that are left early become loops with a condition.

#include "samite/passes/simplify/structure_jumps.h"

#include "samite/ir/print.h"
#include "samite/passes/simplify/promote.h"
#include "samite/passes/simplify/simplify.h"
#include "tests/passes/interpreter.h"
#include "tests/passes/transformed.h"

#include <gmock/gmock.h>

namespace samite::passes {
namespace {

using ir::Form;
using ir::Kernel;
using test::kernel_of;
using ::testing::ElementsAre;

std::string difference_of_jumps(const char *before, const char *after) {
  Kernel actual = structure_jumps(kernel_of(before, Form::captured));
  ir::verify(actual, Form::captured, "structure_jumps");
  return structural_difference(actual, kernel_of(after, Form::captured));
}

TEST(StructureJumps, AKernelWithoutJumpsStaysAsItIs) {
  const char *body = "for %0: i32 in 0 .. @n step 1 { if @p { store @out[%0] = 1 } }";
  EXPECT_EQ(difference_of_jumps(body, body), "");
}

TEST(StructureJumps, TheRestRunsOnTheSideThatStays) {
  EXPECT_EQ(difference_of_jumps(R"(
      for %0: i32 in 0 .. @n step 1 {
        label 1 {
          %1: bool = eq %0, @i
          if %1 { store @out[%0] = 1 leave 1 }
          store @out[%0] = 2
        }
      })",
                                R"(
      for %0: i32 in 0 .. @n step 1 {
        %2: bool = copy false
        %1: bool = eq %0, @i
        if %1 { store @out[%0] = 1 assign %2 = true } else { store @out[%0] = 2 }
      })"),
            "");
}

TEST(StructureJumps, TheRestFollowsWhatTheSideThatStaysDoes) {
  EXPECT_EQ(difference_of_jumps(R"(
      label 1 {
        if @p { store @out[0] = 1 } else { leave 1 }
        store @out[1] = 2
      }
      store @out[2] = 3)",
                                R"(
      %0: bool = copy false
      if @p { store @out[0] = 1 store @out[1] = 2 } else { assign %0 = true }
      store @out[2] = 3)"),
            "");
}

TEST(StructureJumps, WhereASideMayStayTheRestAsksWhetherItDid) {
  EXPECT_EQ(difference_of_jumps(R"(
      %0: bool = eq @i, 3
      label 1 {
        if @p {
          if %0 { leave 1 }
          store @out[0] = 1
        }
        store @out[1] = 2
      })",
                                R"(
      %0: bool = eq @i, 3
      %1: bool = copy false
      if @p {
        if %0 { assign %1 = true } else { store @out[0] = 1 }
      }
      %2: bool = not %1
      if %2 { store @out[1] = 2 })"),
            "");
}

TEST(StructureJumps, WhatFollowsAJumpIsDropped) {
  EXPECT_EQ(difference_of_jumps(R"(
      label 1 {
        if @p { leave 1 store @out[0] = 1 } else { leave 1 }
        store @out[1] = 2
      }
      label 2 {
        label 3 { leave 2 store @out[2] = 1 }
        store @out[2] = 2
      }
      store @out[3] = 3)",
                                R"(
      %0: bool = copy false
      if @p { assign %0 = true } else { assign %0 = true }
      %1: bool = copy false
      %2: bool = copy false
      assign %1 = true
      store @out[3] = 3)"),
            "");
}

TEST(StructureJumps, AForThatIsLeftBecomesAWhileWithACounter) {
  EXPECT_EQ(difference_of_jumps(R"(
      %0: i32 = copy -1
      label 1 {
        for %1: i32 in @i .. @n step 2 {
          %2: i32 = load @out[%1]
          %3: bool = eq %2, 7
          if %3 { assign %0 = %1 leave 1 }
        }
      }
      store @out[0] = %0)",
                                R"(
      %0: i32 = copy -1
      %4: bool = copy false
      %5: i32 = copy @i
      while {
        %6: bool = lt %5, @n
        %7: bool = not %4
        %8: bool = and %6, %7
      } test %8 {
        assign %4 = false
        %1: i32 = copy %5
        %2: i32 = load @out[%1]
        %3: bool = eq %2, 7
        if %3 { assign %0 = %1 assign %4 = true }
        %9: i32 = add %5, 2
        assign %5 = %9
      }
      store @out[0] = %0)"),
            "");
}

TEST(StructureJumps, ALoopThatCountsDownGoesOnWhileAbove) {
  EXPECT_EQ(difference_of_jumps("label 1 { for %0: i32 in @n .. 0 step -1 { if @p { leave 1 } } }",
                                R"(
      %1: bool = copy false
      %2: i32 = copy @n
      while {
        %3: bool = gt %2, 0
        %4: bool = not %1
        %5: bool = and %3, %4
      } test %5 {
        assign %1 = false
        %0: i32 = copy %2
        if @p { assign %1 = true }
        %6: i32 = add %2, -1
        assign %2 = %6
      })"),
            "");
}

TEST(StructureJumps, AWhileAsksWhetherItWasLeft) {
  EXPECT_EQ(difference_of_jumps(R"(
      %0: i32 = copy 0
      label 1 {
        while { %1: bool = lt %0, @n } test %1 {
          if @p { leave 1 }
          assign %0 = @i
        }
      })",
                                R"(
      %0: i32 = copy 0
      %2: bool = copy false
      while {
        %1: bool = lt %0, @n
        %3: bool = not %2
        %4: bool = and %1, %3
      } test %4 {
        assign %2 = false
        if @p { assign %2 = true } else { assign %0 = @i }
      })"),
            "");
}

TEST(StructureJumps, AConditionThatCouldFailIsNotComputedAfterABreak) {
  const char *captured = R"(
      %0: i32 = copy 0
      label 1 {
        while { %1: i32 = load @out[%0] %2: bool = gt %1, 0 } test %2 {
          assign %0 = %1
          %3: bool = eq %0, @i
          if %3 { leave 1 }
        }
      }
      store @out[0] = %0)";
  EXPECT_EQ(difference_of_jumps(captured, R"(
      %0: i32 = copy 0
      %4: bool = copy false
      %5: bool = copy true
      while {} test %5 {
        assign %4 = false
        %1: i32 = load @out[%0]
        %2: bool = gt %1, 0
        assign %5 = false
        if %2 {
          assign %0 = %1
          %3: bool = eq %0, @i
          if %3 { assign %4 = true }
          %6: bool = not %4
          assign %5 = %6
        }
      }
      store @out[0] = %0)"),
            "");

  // Follows the indices 0, 2, 1, 9, the last of which is outside of the array: it must stop there.
  test::Arguments arguments;
  arguments.add_array<float>({0}).add_array<float>({0}).add_array<std::int32_t>({2, 9, 1}).add(9).add(0).add(0.0f);
  arguments.add(false);
  Kernel kernel = simplify(promote(structure_jumps(kernel_of(captured, Form::captured))));
  EXPECT_THAT(test::interpret(kernel, {1}, arguments).arguments.elements<std::int32_t>(2), ElementsAre(9, 9, 1));
}

TEST(StructureJumps, AJumpOutOfTwoLoopsEndsBoth) {
  EXPECT_EQ(difference_of_jumps(R"(
      label 1 {
        for %0: i32 in 0 .. @n step 1 {
          while {} test @p {
            leave 1
          }
          store @out[%0] = 1
        }
        store @out[0] = 2
      })",
                                R"(
      %1: bool = copy false
      %2: i32 = copy 0
      while {
        %3: bool = lt %2, @n
        %4: bool = not %1
        %5: bool = and %3, %4
      } test %5 {
        assign %1 = false
        %0: i32 = copy %2
        while {
          %6: bool = not %1
          %7: bool = and @p, %6
        } test %7 {
          assign %1 = false
          assign %1 = true
        }
        %8: bool = not %1
        if %8 { store @out[%0] = 1 }
        %9: i32 = add %2, 1
        assign %2 = %9
      }
      %10: bool = not %1
      if %10 { store @out[0] = 2 })"),
            "");
}

TEST(StructureJumps, ALoopGoesOnUntilAnyOfItsLabelsIsLeft) {
  EXPECT_EQ(difference_of_jumps(R"(
      label 1 {
        label 2 {
          while {} test true {
            if @p { leave 1 } else { leave 2 }
          }
        }
        store @out[0] = 1
      })",
                                R"(
      %0: bool = copy false
      %1: bool = copy false
      while {
        %2: bool = or %0, %1
        %3: bool = not %2
      } test %3 {
        assign %0 = false
        assign %1 = false
        if @p { assign %0 = true } else { assign %1 = true }
      }
      %4: bool = not %0
      if %4 { store @out[0] = 1 })"),
            "");
}

// The resulting flags: a search is a loop with the flag of the find as its condition.
TEST(StructureJumps, ASearchCarriesOneFlag) {
  Kernel search = kernel_of(R"(
      label 1 {
        for %0: i32 in 0 .. @n step 1 {
          %1: i32 = load @out[%0]
          %2: bool = eq %1, 7
          if %2 { leave 1 }
          store @out[%0] = 7
        }
      })",
                            Form::captured);
  EXPECT_EQ(structural_difference(simplify(promote(structure_jumps(search))), kernel_of(R"(
      while carry (%0 -> %8: bool = false then %5, %1 -> %9: i32 = 0 then %7) {
        %2: bool = lt %1, @n
        %3: bool = not %0
        %4: bool = and %2, %3
      } test %4 {
        %6: i32 = load @out[%1]
        %5: bool = eq %6, 7
        if %5 {} else { store @out[%1] = 7 }
        %7: i32 = add %1, 1
      })")),
            "");
}

}  // namespace
}  // namespace samite::passes
