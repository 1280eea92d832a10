// Locals: assigned in straight line, in branches and in loops; copies; scopes.

#include "samite/base/error.h"
#include "tests/lang/captured.h"
#include "tests/runtime/message_of.h"

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

namespace samite {
namespace {

using test::captured;
using test::difference;
using ::testing::HasSubstr;

TEST(Locals, StartAsZeroWhereNothingIsGiven) {
  EXPECT_EQ(difference(
                [](Array<float, 1> out) {
                  Float x;
                  Int i;
                  Bool p;
                  out(i) = select(p, 1, x);
                },
                "store @p0[0] = 0.0"),
            "");
}

TEST(Locals, AreAssignedInStraightLine) {
  EXPECT_EQ(difference(
                [](Array<float, 1> out, Float x, Int n) {
                  Float y = x;
                  y = y * x;
                  y = 2;
                  y = n;
                  y = out(0);
                  y += x;
                  out(1) = y;
                },
                "%0: f32 = load @p0[0:i64] %1: f32 = add %0, @p1 store @p0[1:i64] = %1"),
            "");
}

TEST(Locals, ACopyIsACopy) {
  EXPECT_EQ(difference(
                [](Array<float, 1> out, Float x) {
                  Float before = x, also = before;
                  auto third = x;
                  x = x + 1;
                  also = 5;
                  out(0) = before;
                  out(1) = third;
                  out(2) = also;
                  out(3) = x;
                },
                R"(
                %0: f32 = add @p1, 1.0
                store @p0[0:i64] = @p1
                store @p0[1:i64] = @p1
                store @p0[2:i64] = 5.0
                store @p0[3:i64] = %0)"),
            "");
}

TEST(Locals, AReferenceIsTheSameLocal) {
  EXPECT_EQ(difference(
                [](Array<float, 1> out, Float x) {
                  Float y = 0;
                  Float &same = y;
                  same = x;
                  out(0) = y;
                },
                "store @p0[0:i64] = @p1"),
            "");
}

struct Ray {
  Float origin, direction;
  Float at(Float t) const { return origin + t * direction; }
};

TEST(Locals, MembersOfAStructAreLocals) {
  EXPECT_EQ(difference(
                [](Array<float, 1> out, Float a, Float b) {
                  Ray ray{a, b};
                  Ray other = ray;
                  other.direction = 2;
                  ray = other;
                  out(0) = ray.at(a);
                },
                "%0: f32 = mul @p1, 2.0 %1: f32 = add @p1, %0 store @p0[0:i64] = %1"),
            "");
}

TEST(Locals, AssignedInABranchChangeThereOnly) {
  EXPECT_EQ(difference(
                [](Array<float, 1> out, Float x, Bool p) {
                  Float y = x;
                  if_(p, [&] { y = -x; });
                  out(0) = y;
                },
                R"(
                if @p2 -> (%1: f32 = %0 | @p1) { %0: f32 = neg @p1 }
                store @p0[0:i64] = %1)"),
            "");
}

TEST(Locals, AssignedOnBothSidesOfABranch) {
  EXPECT_EQ(difference(
                [](Array<float, 1> out, Float x, Bool p) {
                  Float y;
                  if_(p, [&] { y = x; }, [&] { y = 1; });
                  out(0) = y;
                },
                "if @p2 -> (%0: f32 = @p1 | 1.0) {} else {} store @p0[0:i64] = %0"),
            "");
}

TEST(Locals, AssignedInALoopAreCarried) {
  EXPECT_EQ(difference(
                [](Array<float, 1> out, Array<const float, 1> in, Int n) {
                  Float sum = 0;
                  for (Int i : range(n)) sum += in(i);
                  out(0) = sum;
                },
                R"(
                for %0: i32 in 0 .. @p2 step 1 carry (%1 -> %4: f32 = 0.0 then %3) {
                  %2: f32 = load @p1[%0]
                  %3: f32 = add %1, %2
                }
                store @p0[0:i64] = %4)"),
            "");
}

TEST(Locals, AssignedInNestedLoopsAreCarriedThroughBoth) {
  EXPECT_EQ(difference(
                [](Array<float, 1> out, Array<const float, 2> in, Int n) {
                  Float sum = 0;
                  for (Int i : range(n)) {
                    Float row = 0;
                    for (Int j : range(n)) row += in(i, j);
                    sum += row * row;
                  }
                  out(0) = sum;
                },
                R"(
                for %0: i32 in 0 .. @p2 step 1 carry (%1 -> %9: f32 = 0.0 then %8) {
                  for %2: i32 in 0 .. @p2 step 1 carry (%3 -> %6: f32 = 0.0 then %5) {
                    %4: f32 = load @p1[%0, %2]
                    %5: f32 = add %3, %4
                  }
                  %7: f32 = mul %6, %6
                  %8: f32 = add %1, %7
                }
                store @p0[0:i64] = %9)"),
            "");
}

TEST(Locals, ABranchInALoopCarriesOn) {
  EXPECT_EQ(difference(
                [](Array<int, 1> out, Array<const float, 1> in, Int n) {
                  Int largest = 0;
                  for (Int i : range(1, n)) {
                    Float value = in(i);
                    if_(value > in(largest), [&] { largest = i; });
                  }
                  out(0) = largest;
                },
                R"(
                for %0: i32 in 1 .. @p2 step 1 carry (%1 -> %6: i32 = 0 then %5) {
                  %2: f32 = load @p1[%0]
                  %3: f32 = load @p1[%1]
                  %4: bool = gt %2, %3
                  if %4 -> (%5: i32 = %0 | %1) {}
                }
                store @p0[0:i64] = %6)"),
            "");
}

// The message of a kernel whose `leak` keeps a value computed in a block, which is then used on `line`.
template <class F>
std::string scope_message(const F &leak, unsigned &line) {
  return message_of<UserError>([&] {
    captured([&](Array<float, 1> out, Int n, Bool p) {
      std::optional<Float> kept;
      leak(kept, out, n, p);
      line = __LINE__ + 1;
      out(0) = *kept + 1;
    });
  });
}

TEST(Locals, AValueUsedAfterItsBlockHasEndedIsAnErrorThatNamesTheLineAndTheRemedy) {
  auto from_branch = [](auto &kept, auto out, Int, Bool p) { if_(p, [&] { kept.emplace(out(1)); }); };
  auto from_loop = [](auto &kept, auto out, Int n, Bool) {
    for (Int i : range(n)) kept.emplace(out(i));
  };
  auto from_condition = [](auto &kept, auto out, Int, Bool) {
    while_(
        [&] {
          kept.emplace(out(1));
          return *kept > 0;
        },
        [] {});
  };
  auto from_first_side = [](auto &kept, auto out, Int, Bool p) {
    if_(p, [&] { kept.emplace(out(1)); }, [&] { out(2) = *kept; });
  };
  unsigned line = 0;
  std::string message = scope_message(from_branch, line);
  EXPECT_THAT(message, HasSubstr("locals_test.cpp:" + std::to_string(line) +
                                 ": a traced value is used after the loop or branch that computed it has ended"));
  EXPECT_THAT(message, HasSubstr("declare a local before the loop or branch, assign to it inside, and use that"));
  for (auto &text : {scope_message(from_loop, line), scope_message(from_condition, line)})
    EXPECT_THAT(text, HasSubstr("locals_test.cpp:" + std::to_string(line) + ": a traced value is used after the loop"));
  EXPECT_THAT(scope_message(from_first_side, line), HasSubstr("a traced value is used after the loop or branch"));
}

TEST(Locals, AssigningALocalWhoseBlockHasEndedIsAnErrorToo) {
  EXPECT_THAT(message_of<UserError>([] {
                captured([](Bool p) {
                  std::optional<Float> kept;
                  if_(p, [&] { kept.emplace(1.0f); });
                  *kept = 2;
                });
              }),
              HasSubstr("a traced value is used after the loop or branch that computed it has ended"));
}

TEST(Locals, AnElementWhoseIndexWasComputedInABlockThatHasEndedIsAnErrorToo) {
  EXPECT_THAT(message_of<UserError>([] {
                captured([](Array<float, 1> out, Int n) {
                  std::optional<Element<float>> kept;
                  for (Int i : range(n)) kept.emplace(out(i));
                  *kept = 2.0f;
                });
              }),
              HasSubstr("a traced value is used after the loop or branch that computed it has ended"));
}

TEST(Locals, AMovedFromValueIsAnErrorThatNamesTheLine) {
  unsigned line = 0;
  std::string message = message_of<UserError>([&] {
    captured([&](Float x) {
      Float y = std::move(x);
      line = __LINE__ + 1;
      return y + x;
    });
  });
  EXPECT_THAT(message, HasSubstr("locals_test.cpp:" + std::to_string(line) +
                                 ": a traced value is used after it was moved from"));
}

TEST(Locals, SwapExchangesValues) {
  EXPECT_EQ(difference(
                [](Array<float, 1> out, Float x, Float y) {
                  swap(x, y);
                  out(0) = x;
                  out(1) = y;
                },
                "store @p0[0:i64] = @p2 store @p0[1:i64] = @p1"),
            "");
}

// Only if the branch is taken, and again in each iteration.
TEST(Locals, SwapInABranchAndInALoop) {
  EXPECT_EQ(difference(
                [](Array<float, 1> out, Float x, Float y) {
                  if_(x > y, [&] { swap(x, y); });
                  out(0) = x;
                },
                "%0: bool = gt @p1, @p2 if %0 -> (%1: f32 = @p2 | @p1) {} store @p0[0:i64] = %1"),
            "");
  EXPECT_EQ(difference(
                [](Array<float, 1> out, Float x, Float y) {
                  Float a = x;
                  Float b = y;
                  for (Int k : range(3)) swap(a, b);
                  out(0) = a;
                },
                "for %0: i32 in 0 .. 3 step 1 carry (%1 -> %3: f32 = @p1 then %2, %2 -> %4: f32 = @p2 then %1) {} "
                "store @p0[0:i64] = %3"),
            "");
}

// In the block of their declaration, in a branch and in a loop.
TEST(Locals, StdSwapExchangesValues) {
  EXPECT_EQ(difference(
                [](Array<float, 1> out, Float x, Float y) {
                  std::swap(x, y);
                  out(0) = x;
                  out(1) = y;
                },
                "store @p0[0:i64] = @p2 store @p0[1:i64] = @p1"),
            "");
  EXPECT_EQ(difference(
                [](Array<float, 1> out, Float x, Float y) {
                  if_(x > y, [&] { std::swap(x, y); });
                  out(0) = x;
                },
                "%0: bool = gt @p1, @p2 if %0 -> (%1: f32 = @p2 | @p1) {} store @p0[0:i64] = %1"),
            "");
  EXPECT_EQ(difference(
                [](Array<float, 1> out, Float x, Float y) {
                  Float a = x;
                  Float b = y;
                  for (Int k : range(3)) std::swap(a, b);
                  out(0) = a;
                },
                "for %0: i32 in 0 .. 3 step 1 carry (%1 -> %3: f32 = @p1 then %2, %2 -> %4: f32 = @p2 then %1) {} "
                "store @p0[0:i64] = %3"),
            "");
}

TEST(Locals, StdRotateInALoop) {
  EXPECT_EQ(difference(
                [](Array<float, 1> out, Float x, Float y, Float z) {
                  std::array<Float, 3> a{x, y, z};
                  for (Int k : range(4)) std::rotate(a.begin(), a.begin() + 1, a.end());
                  out(0) = a[0];
                },
                "for %0: i32 in 0 .. 4 step 1 carry (%1 -> %4: f32 = @p1 then %2, %2 -> %5: f32 = @p2 then %3, "
                "%3 -> %6: f32 = @p3 then %1) {} store @p0[0:i64] = %4"),
            "");
}

TEST(Locals, WhatWasMovedFromInALoopMayBeAssignedInABranch) {
  EXPECT_EQ(difference(
                [](Array<float, 1> out, Float x) {
                  Float a = x;
                  for (Int k : range(3)) {
                    Float b = std::move(a);
                    if_(k < 2, [&] { a = b * 2; });
                    out(k) = b;
                  }
                  out(3) = a;
                },
                "for %0: i32 in 0 .. 3 step 1 carry (%1 -> %2: f32 = @p1 then %3) { %4: bool = lt %0, 2 "
                "if %4 -> (%3: f32 = %5 | %1) { %5: f32 = mul %1, 2.0 } store @p0[%0] = %1 } "
                "store @p0[3:i64] = %2"),
            "");
}

// Operations on the value after the move, in the branch and after it, apply to that value.
TEST(Locals, AMovedValueThatIsChangedBeforeTheOtherIsAssigned) {
  EXPECT_EQ(difference(
                [](Array<float, 1> out, Float x) {
                  Float a = x;
                  for (Int k : range(3)) {
                    Float b = std::move(a);
                    if_(k < 2, [&] {
                      b += 1;
                      a = b * 2;
                    });
                    out(k) = b;
                  }
                  out(3) = a;
                },
                "for %0: i32 in 0 .. 3 step 1 carry (%1 -> %2: f32 = @p1 then %3) { %4: bool = lt %0, 2 "
                "if %4 -> (%3: f32 = %7 | %1, %5: f32 = %6 | %1) { %6: f32 = add %1, 1.0 %7: f32 = mul %6, 2.0 } "
                "store @p0[%0] = %5 } store @p0[3:i64] = %2"),
            "");
}

// Objects that move in memory are the same variables.
TEST(Locals, AVectorThatGrowsInALoopKeepsItsValues) {
  EXPECT_EQ(difference(
                [](Array<float, 1> out, Float x) {
                  std::vector<Float> values;
                  values.push_back(x);
                  for (Int k : range(3)) {
                    values.push_back(values[0] + 1);
                    values[0] = values[1];
                  }
                  out(0) = values[0];
                },
                "for %0: i32 in 0 .. 3 step 1 carry (%1 -> %2: f32 = @p1 then %3) { %3: f32 = add %1, 1.0 } "
                "store @p0[0:i64] = %2"),
            "");
}

// The variable is the one around the loop, though it was moved from before it.
TEST(Locals, WhatWasMovedFromMayBeAssignedInALoop) {
  EXPECT_EQ(difference(
                [](Array<float, 1> out, Float x) {
                  Float a = x;
                  Float b = std::move(a);
                  for (Int k : range(3)) a = b + 1;
                  out(0) = a;
                },
                "for %0: i32 in 0 .. 3 step 1 carry (%1 -> %2: f32 = 0.0 then %3) { %3: f32 = add @p1, 1.0 } "
                "store @p0[0:i64] = %2"),
            "");
}

TEST(Locals, AssigningByMoveCopies) {
  EXPECT_EQ(difference(
                [](Array<float, 1> out, Float x) {
                  Float y;
                  y = std::move(x);
                  y += 1;
                  out(0) = y;
                  out(1) = x;
                },
                "%0: f32 = add @p1, 1.0 store @p0[0:i64] = %0 store @p0[1:i64] = @p1"),
            "");
}

}  // namespace
}  // namespace samite
