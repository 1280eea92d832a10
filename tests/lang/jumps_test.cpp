// break_, continue_ and return_: the captured statements, and refused jumps.

#include "samite/base/error.h"
#include "samite/ir/kernel.h"
#include "tests/lang/captured.h"
#include "tests/runtime/message_of.h"

#include <optional>

namespace samite {
namespace {

using test::captured;
using test::difference;
using ::testing::HasSubstr;

// The captured body of `function`, one statement a line.
template <class F>
std::string body_of(const F &function) {
  ir::Kernel kernel = captured(function);
  return to_string(kernel.body, kernel.parameters, {.renumber = true});
}

TEST(Jumps, BreakLeavesTheLoopAndContinueItsIteration) {
  EXPECT_EQ(body_of([](Array<int, 1> out) {
              for (Int i : range(4)) {
                if_(i == 1, [] { continue_(); });
                out(0) = 1;
                break_();
              }
            }),
            "%0: i32 = copy 0\n"
            "%1: i32 = copy 4\n"
            "label 2 {\n"
            "  for %2: i32 in %0 .. %1 step 1 {\n"
            "    label 3 {\n"
            "      %3: i32 = copy %2\n"
            "      %4: bool = eq %3, 1\n"
            "      %5: bool = copy %4\n"
            "      if %5 {\n"
            "        leave 3\n"
            "      }\n"
            "      store @p0[0:i64] = 1\n"
            "      leave 2\n"
            "    }\n"
            "  }\n"
            "}\n");
}

TEST(Jumps, ReturnLeavesTheKernel) {
  EXPECT_EQ(body_of([](Array<int, 1> out) {
              if_(true, [] { return_(); });
              out(0) = 1;
            }),
            "label 0 {\n"
            "  %0: bool = copy true\n"
            "  if %0 {\n"
            "    leave 0\n"
            "  }\n"
            "  store @p0[0:i64] = 1\n"
            "}\n");
}

TEST(Jumps, ASearchIsALoopWithACondition) {
  EXPECT_EQ(difference(
                [](Array<int, 1> out, Array<const int, 1> in, Int key) {
                  Int found = -1;
                  for (Int i : range(in.extent(0))) {
                    if_(in(i) == key, [&] {
                      found = i;
                      break_();
                    });
                  }
                  out(0) = found;
                },
                R"(
                %0: i32 = extent @p1, 0
                while carry (%1 -> %2: i32 = -1 then %11, %3 -> %4: bool = false then %10, %5 -> %6: i32 = 0 then %12) {
                  %7: bool = lt %5, %0
                  %8: bool = not %3
                  %9: bool = and %7, %8
                } test %9 {
                  %13: i32 = load @p1[%5]
                  %10: bool = eq %13, @p2
                  if %10 -> (%11: i32 = %5 | %1) {}
                  %12: i32 = add %5, 1
                }
                store @p0[0:i64] = %2)"),
            "");
}

TEST(Jumps, ALoopWithContinueAloneStaysAFor) {
  EXPECT_EQ(difference(
                [](Array<int, 1> out, Int n) {
                  for (Int i : range(n)) {
                    if_(i == 3, [] { continue_(); });
                    out(i) = 1;
                  }
                },
                R"(
                for %0: i32 in 0 .. @p1 step 1 {
                  %1: bool = eq %0, 3
                  if %1 {} else { store @p0[%0] = 1 }
                })"),
            "");
}

Float root(Float x) {
  return returning<Float>([&](auto return_) {
    if_(x < 0, [&] { return_(0); });
    return sqrt(x);
  });
}

TEST(Jumps, AFunctionReturnsEarlyForItselfAlone) {
  EXPECT_EQ(difference(
                [](Array<float, 1> out, Float x) {
                  out(0) = root(x);
                  out(1) = 1;
                },
                R"(
                %0: bool = lt @p1, 0.0
                if %0 -> (%1: f32 = 0.0 | %2) {} else { %2: f32 = sqrt @p1 }
                store @p0[0:i64] = %1
                store @p0[1:i64] = 1.0)"),
            "");
}

TEST(Jumps, AFunctionThatNeverReturnsEarlyLeavesNoTrace) {
  EXPECT_EQ(difference([](Array<float, 1> out, Float x) { out(0) = returning<Float>([&](auto) { return x + 1; }); },
                       "%0: f32 = add @p1, 1.0 store @p0[0:i64] = %0"),
            "");
}

TEST(Jumps, AFunctionMayGiveNothingAndAStruct) {
  struct Pair {
    Float a = 0, b = 0;
  };
  EXPECT_EQ(difference(
                [](Array<float, 1> out, Float x, Bool p) {
                  Pair pair = returning<Pair>([&](auto return_) {
                    if_(p, [&] { return_(Pair{x, 1}); });
                    return Pair{2, x};
                  });
                  returning([&](auto return_) {
                    if_(x > 0, [&] { return_(); });
                    out(0) = pair.a;
                  });
                  out(1) = pair.b;
                },
                R"(
                if @p2 -> (%0: f32 = @p1 | 2.0, %1: f32 = 1.0 | @p1) {}
                %2: bool = gt @p1, 0.0
                if %2 {} else { store @p0[0:i64] = %0 }
                store @p0[1:i64] = %1)"),
            "");
}

TEST(Jumps, AnInnerFunctionMayEndTheOuterOne) {
  EXPECT_EQ(difference(
                [](Array<int, 1> out, Bool p, Bool q) {
                  out(0) = returning<Int>([&](auto outer) {
                    Int inner = returning<Int>([&](auto inner) {
                      if_(p, [&] { outer(1); });
                      if_(q, [&] { inner(2); });
                      return 3;
                    });
                    return inner + 10;
                  });
                },
                R"(
                if @p1 -> (%1: i32 = 1 | 0, %0: i32 = 0 | %2) {} else { if @p2 -> (%2: i32 = 2 | 3) {} }
                %3: bool = not @p1
                if %3 -> (%5: i32 = %4 | %1) { %4: i32 = add %0, 10 }
                store @p0[0:i64] = %5)"),
            "");
}

TEST(Jumps, AConditionMayCallAFunctionThatReturnsEarly) {
  EXPECT_NO_THROW(test::structured([](Array<float, 1> out) {
    Float x = 100;
    while_([&] { return root(x) > 1; }, [&] { x -= 1; });
    out(0) = x;
  }));
}

// The message when `kernel` is refused.
template <class F>
std::string refusal_of_jump(const F &kernel) {
  return message_of<UserError>([&] { captured(kernel); });
}
std::string at(unsigned line) { return "jumps_test.cpp:" + std::to_string(line) + ": "; }

TEST(Jumps, OutsideOfALoopIsAnErrorThatNamesTheLine) {
  const unsigned line = __LINE__ + 1;
  auto in_a_branch = [](Bool p) { if_(p, [] { break_(); }); };
  EXPECT_THAT(refusal_of_jump(in_a_branch), HasSubstr(at(line) + "break_() outside of a traced loop"));
  auto after_the_loop = [](Int n) {
    for (Int i : range(n)) i = 1;
    continue_();
  };
  const unsigned next_line = __LINE__ - 2;
  EXPECT_THAT(refusal_of_jump(after_the_loop), HasSubstr(at(next_line) + "continue_() outside of a traced loop"));
}

TEST(Jumps, AFunctionDoesNotSeeTheLoopsOfItsCaller) {
  const unsigned line = __LINE__ + 2;
  auto kernel = [](Int n) {
    for (Int i : range(n)) returning([&](auto) { if_(i > 3, [] { break_(); }); });
  };
  std::string message = refusal_of_jump(kernel);
  EXPECT_THAT(message,
              HasSubstr(at(line) + "break_() in a function of returning(…) that has no traced loop around it"));
}

TEST(Jumps, OutOfAConditionIsAnErrorThatNamesTheLine) {
  auto refused = [](auto jump) {
    return refusal_of_jump([&](Int n) {
      for (Int i : range(n)) while_([&] { return jump(), i > 0; }, [] {});
    });
  };
  const unsigned line = __LINE__ + 1;
  auto breaks = [] { break_(); };
  EXPECT_THAT(refused(breaks), HasSubstr(at(line) + "break_() would leave the condition of a while_"));
  EXPECT_THAT(refused([] { return_(); }), HasSubstr("return_ would leave the condition of a while_ half-way"));
}

TEST(Jumps, AfterItsFunctionIsAnErrorThatNamesTheLine) {
  unsigned line = 0;
  std::string message = refusal_of_jump([&] {
    std::optional<Return<Int>> kept;
    Int one = returning<Int>([&](auto return_) {
      kept = return_;
      return 1;
    });
    line = __LINE__ + 1;
    (*kept)(one);
  });
  EXPECT_THAT(message, HasSubstr(at(line) + "return_ is called after the function of returning(…) that it ends"));
}

TEST(Jumps, OutsideOfAKernelIsAnError) {
  EXPECT_THAT(message_of<UserError>([] { return_(); }), HasSubstr("outside of a kernel"));
}

}  // namespace
}  // namespace samite
