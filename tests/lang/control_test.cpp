// Loops, branches and selections of traced values.

#include "samite/lang/control.h"

#include "samite/base/error.h"
#include "tests/lang/captured.h"
#include "tests/runtime/message_of.h"

namespace samite {
namespace {

using test::captured;
using test::difference;
using test::recorded;
using ::testing::HasSubstr;

// The head of the loop over `range_of` of an Int n, with the statements before it.
template <class F>
std::string head(F range_of) {
  std::string text = recorded([&](Int n, Int64 wide, UInt8 narrow, Array<const int, 1> a) {
    (void)n, (void)wide, (void)narrow, (void)a;
    for (auto i : range_of(n, wide, narrow, a)) i = 0;
  });
  return text.substr(0, text.find(" {"));
}

TEST(Range, CountsFromZeroByOne) {
  EXPECT_EQ(head([](auto n, auto...) { return range(n); }), "for %0: i32 in 0 .. @p0 step 1");
  EXPECT_EQ(head([](auto...) { return range(10); }), "for %0: i32 in 0 .. 10 step 1");
}

TEST(Range, HasBeginEndAndStep) {
  EXPECT_EQ(head([](auto n, auto...) { return range(2, n); }), "for %0: i32 in 2 .. @p0 step 1");
  EXPECT_EQ(head([](auto n, auto...) { return range(n, 10, 3); }), "for %0: i32 in @p0 .. 10 step 3");
  EXPECT_EQ(head([](auto n, auto...) { return range(n - 1, -1, -1); }),
            "%0: i32 = sub @p0, 1; for %1: i32 in %0 .. -1 step -1");
}

TEST(Range, CountsInInt64WhereABoundIs) {
  EXPECT_EQ(head([](Int, Int64 wide, auto...) { return range(wide); }), "for %0: i64 in 0:i64 .. @p1 step 1:i64");
  EXPECT_EQ(head([](Int n, Int64 wide, auto...) { return range(wide, n, -2); }),
            "%0: i64 = cast @p0; for %1: i64 in @p1 .. %0 step -2:i64");
}

TEST(Range, TakesNarrowIntegersAndArrayElements) {
  EXPECT_EQ(head([](Int, Int64, UInt8 narrow, auto) { return range(narrow); }),
            "%0: i32 = cast @p2; for %1: i32 in 0 .. %0 step 1");
  EXPECT_EQ(head([](Int n, Int64, UInt8, auto a) { return range(a(1), n); }),
            "%0: i32 = load @p3[1:i64]; for %1: i32 in %0 .. @p0 step 1");
}

TEST(Range, AStepOfZeroIsAnErrorThatNamesTheLine) {
  const unsigned line = __LINE__ + 3;
  std::string message = message_of<UserError>([] {
    captured([](Int n) {
      for (Int i : range(0, n, 0)) i = 1;
    });
  });
  EXPECT_THAT(message, HasSubstr("control_test.cpp:" + std::to_string(line) + ": range with a step of 0 never ends"));
}

TEST(Range, ABoundIsThatBoundAlsoAfterItIsAssigned) {
  EXPECT_EQ(difference(
                [](Array<int, 1> out, Int n) {
                  for (Int i : range(n)) {
                    n = 0;
                    out(i) = n;
                  }
                },
                "for %0: i32 in 0 .. @p1 step 1 { store @p0[%0] = 0 }"),
            "");
}

TEST(Range, ThatIsKeptHasTheBoundsItWasMadeWith) {
  EXPECT_EQ(difference(
                [](Array<int, 1> out, Int begin, Int end) {
                  auto rows = range(begin, end);
                  begin = 7;
                  end = 8;
                  for (Int i : rows) out(i) = 1;
                },
                "for %0: i32 in @p1 .. @p2 step 1 { store @p0[%0] = 1 }"),
            "");
}

TEST(Range, TheIndexIsACopy) {
  EXPECT_EQ(difference(
                [](Array<int, 1> out, Int n) {
                  for (Int i : range(n)) {
                    i += 1;
                    out(0) = i;
                  }
                },
                "for %0: i32 in 0 .. @p1 step 1 { %1: i32 = add %0, 1 store @p0[0:i64] = %1 }"),
            "");
}

TEST(Range, MayBeKeptAndUsedTwice) {
  EXPECT_EQ(difference(
                [](Array<int, 1> out, Int n) {
                  auto rows = range(n);
                  for (Int i : rows) out(i) = 1;
                  for (Int i : rows) out(i) = 2;
                },
                "for %0: i32 in 0 .. @p1 step 1 { store @p0[%0] = 1 } "
                "for %1: i32 in 0 .. @p1 step 1 { store @p0[%1] = 2 }"),
            "");
}

// The message when `function`, which leaves a loop on the line that it sets, is refused.
template <class F>
std::string break_message(const F &function, unsigned &line) {
  return message_of<UserError>([&] { captured([&](Int n, Bool p) { function(n, p, line); }); });
}

TEST(Range, ANativeBreakIsRefusedAndTheLoopNamed) {
  unsigned line = 0;
  std::string message = break_message(
      [](Int n, Bool, unsigned &line) {
        line = __LINE__ + 1;
        for (Int i : range(n)) {
          i = 0;
          break;
        }
      },
      line);
  EXPECT_THAT(message, HasSubstr("control_test.cpp:" + std::to_string(line) + ": this loop over range(…) was left"));
  EXPECT_THAT(message, HasSubstr("leave by break_(), continue_() or return_() inside of an if_ instead"));
}

TEST(Range, ANativeReturnInsideOfOtherBlocksIsRefusedAndTheLoopNamed) {
  auto leaving = [](Int n, unsigned &line) {
    line = __LINE__ + 1;
    for (Int i : range(n)) {
      i = 0;
      return;
    }
  };
  const std::string name = "control_test.cpp:";
  unsigned line = 0;
  std::string in_loop = break_message(
      [&](Int n, Bool, unsigned &line) {
        for (Int j : range(n)) leaving(j, line);
      },
      line);
  EXPECT_THAT(in_loop, HasSubstr(name + std::to_string(line) + ": this loop over range(…) was left"));
  std::string in_branch =
      break_message([&](Int n, Bool p, unsigned &line) { if_(p, [] {}, [&] { leaving(n, line); }); }, line);
  EXPECT_THAT(in_branch, HasSubstr(name + std::to_string(line) + ": this loop over range(…) was left"));
  std::string in_while =
      break_message([&](Int n, Bool p, unsigned &line) { while_([&] { return p; }, [&] { leaving(n, line); }); }, line);
  EXPECT_THAT(in_while, HasSubstr(name + std::to_string(line) + ": this loop over range(…) was left"));
}

TEST(If, RunsOneSide) {
  EXPECT_EQ(difference([](Array<int, 1> out, Int n) { if_(n > 3, [&] { out(0) = 1; }); },
                       "%0: bool = gt @p1, 3 if %0 { store @p0[0:i64] = 1 }"),
            "");
  EXPECT_EQ(difference([](Array<int, 1> out, Bool p) { if_(p, [&] { out(0) = 1; }, [&] { out(0) = 2; }); },
                       "if @p1 { store @p0[0:i64] = 1 } else { store @p0[0:i64] = 2 }"),
            "");
}

TEST(If, TakesAnArrayElementAndAHostBool) {
  EXPECT_EQ(difference(
                [](Array<int, 1> out, Array<const bool, 1> flags) {
                  if_(flags(0), [&] { out(0) = 1; });
                  if_(false, [&] { out(0) = 2; });
                },
                "%0: bool = load @p1[0:i64] if %0 { store @p0[0:i64] = 1 }"),
            "");
}

TEST(If, TheConditionIsItsValueBeforeTheBranch) {
  EXPECT_EQ(recorded([](Bool p) {
              Int x;
              if_(p, [&] {
                p = false;
                x = 1;
              });
              return x;
            }),
            "if @p0 -> (%0: bool = false | @p0, %1: i32 = 1 | 0) {; }");
}

TEST(While, RunsTheBodyAsLongAsTheConditionHolds) {
  EXPECT_EQ(difference(
                [](Array<float, 1> out, Float x) {
                  while_([&] { return x > 1; }, [&] { x = x / 2; });
                  out(0) = x;
                },
                R"(
                while carry (%0 -> %3: f32 = @p1 then %2) {
                  %1: bool = gt %0, 1.0
                } test %1 {
                  %2: f32 = div %0, 2.0
                }
                store @p0[0:i64] = %3)"),
            "");
}

TEST(While, TheConditionIsComputedAnewEachTime) {
  EXPECT_EQ(difference(
                [](Array<int, 1> state) {
                  while_(
                      [&] {
                        Int left = state(0);
                        return left > 0;
                      },
                      [&] { state(0) -= 1; });
                },
                R"(
                while {
                  %0: i32 = load @p0[0:i64]
                  %1: bool = gt %0, 0
                } test %1 {
                  %2: i32 = sub %0, 1
                  store @p0[0:i64] = %2
                })"),
            "");
}

TEST(While, AConditionThatAssignsAnOuterLocalIsAnErrorThatNamesTheLoop) {
  unsigned line = 0;
  std::string message = message_of<UserError>([&] {
    test::promoted([&](Int n) {
      line = __LINE__ + 1;
      while_([&] { return (n -= 1) > 0; }, [] {});
    });
  });
  EXPECT_THAT(message,
              HasSubstr("control_test.cpp:" + std::to_string(line) + ": the condition of this while_ assigns"));
}

TEST(Select, ComputesBothSides) {
  EXPECT_EQ(recorded([](Bool p, Float x, Float y) { return select(p, x + 1, y); }),
            "%0: f32 = add @p1, 1.0; %1: f32 = select @p0, %0, @p2");
}

TEST(Select, TakesLiteralsElementsAndBool) {
  EXPECT_EQ(recorded([](Bool p, Float x) { return select(p, x, 0); }), "%0: f32 = select @p0, @p1, 0.0");
  EXPECT_EQ(recorded([](Bool p, Float x) { return select(x > 0, true, p); }),
            "%0: bool = gt @p1, 0.0; %1: bool = select %0, true, @p0");
  EXPECT_EQ(recorded([](Bool p, Array<const double, 1> a, Float x) { return select(p, a(0), x); }),
            "%0: f64 = load @p1[0:i64]; %1: f64 = cast @p2; %2: f64 = select @p0, %0, %1");
}

}  // namespace
}  // namespace samite
