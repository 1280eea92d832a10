// Local arrays: declared, indexed, copied, passed on.

#include "samite/lang/local_array.h"

#include "samite/base/error.h"
#include "tests/lang/captured.h"
#include "tests/runtime/message_of.h"

namespace samite {
namespace {

using test::captured;
using test::difference;
using test::recorded;
using ::testing::HasSubstr;

TEST(LocalArray, BeginsWithZeros) {
  EXPECT_EQ(recorded([] { LocalArray<float, 2> a; }),
            "local $0: f32[2:i64]; local_store $0[0] = 0.0; local_store $0[1] = 0.0");
  EXPECT_EQ(recorded([] { LocalArray<bool, 5> a; }),
            "local $0: bool[5:i64]; for %0: i32 in 0 .. 5 step 1 {;   local_store $0[%0] = false; }");
}

TEST(LocalArray, TakesElementsAndFillsUpWithZeros) {
  EXPECT_EQ(recorded([](Float x, Int n) { LocalArray<float, 3> a{x, n, 2}; }),
            "%0: f32 = cast @p1; local $0: f32[3:i64]; local_store $0[0:i64] = @p0; local_store $0[1:i64] = %0; "
            "local_store $0[2:i64] = 2.0");
  EXPECT_EQ(recorded([](Float x) { LocalArray<float, 2> a{x}; }),
            "local $0: f32[2:i64]; local_store $0[0] = 0.0; local_store $0[1] = 0.0; local_store $0[0:i64] = @p0");
}

TEST(LocalArray, ElementsReadAssignAndComputeLikeThoseOfArrays) {
  EXPECT_EQ(difference(
                [](Array<float, 1> out, Int i, UInt8 small) {
                  LocalArray<float, 4> a;
                  a(i) = 2.0f;
                  Float tripled = a(1) * 3;
                  a[small] += tripled;
                  Float negative = -a[2];
                  out(0) = max(a(i), negative);
                },
                R"(local $0: f32[4:i64]
                   local_store $0[0] = 0.0
                   local_store $0[1] = 0.0
                   local_store $0[2] = 0.0
                   local_store $0[3] = 0.0
                   local_store $0[@p1] = 2.0
                   %0: f32 = local_load $0[1:i64]
                   %1: f32 = mul %0, 3.0
                   %2: i32 = cast @p2
                   %3: f32 = local_load $0[%2]
                   %4: f32 = add %3, %1
                   local_store $0[%2] = %4
                   %5: f32 = local_load $0[2:i64]
                   %6: f32 = neg %5
                   %7: f32 = local_load $0[@p1]
                   %8: f32 = max %7, %6
                   store @p0[0:i64] = %8)"),
            "");
}

TEST(LocalArray, CompoundAssignmentOfIntegersAndBools) {
  EXPECT_EQ(recorded([](Int i) {
              LocalArray<int, 1> a;
              a(0) %= 3;
              a(0) ^= i;
            }),
            "local $0: i32[1:i64]; local_store $0[0] = 0; %0: i32 = local_load $0[0:i64]; %1: i32 = rem %0, 3; "
            "local_store $0[0:i64] = %1; %2: i32 = local_load $0[0:i64]; %3: i32 = xor %2, @p0; "
            "local_store $0[0:i64] = %3");
  EXPECT_EQ(recorded([](Bool p) {
              LocalArray<bool, 1> a;
              a(0) |= p;
            }),
            "local $0: bool[1:i64]; local_store $0[0] = false; %0: bool = local_load $0[0:i64]; "
            "%1: bool = or %0, @p0; local_store $0[0:i64] = %1");
}

TEST(LocalArray, AnElementStaysWhereTheIndexWas) {
  EXPECT_EQ(difference(
                [](Array<float, 1> out, Int i) {
                  LocalArray<float, 1> a;
                  auto element = a(i);
                  i += 1;
                  element = 2;
                  out(i) = element;
                },
                R"(local $0: f32[1:i64]
                   local_store $0[0] = 0.0
                   %0: i32 = add @p1, 1
                   local_store $0[@p1] = 2.0
                   %1: f32 = local_load $0[@p1]
                   store @p0[%0] = %1)"),
            "");
}

TEST(LocalArray, ACopyIsACopy) {
  EXPECT_EQ(recorded([](Float x) {
              LocalArray<float, 1> a, b = a;
              b(0) = x;
              a = b;
            }),
            "local $0: f32[1:i64]; local_store $0[0] = 0.0; local $1: f32[1:i64]; %0: f32 = local_load $0[0]; "
            "local_store $1[0] = %0; local_store $1[0:i64] = @p0; %1: f32 = local_load $1[0]; "
            "local_store $0[0] = %1");
}

void set_first(LocalArray<float, 1> &a, Float x) { a(0) = x; }
Float first(const LocalArray<float, 1> &a) { return a(0); }
LocalArray<float, 1> with(Float x) {
  LocalArray<float, 1> a;
  set_first(a, x);
  return a;
}

TEST(LocalArray, FunctionsTakeAndReturnIt) {
  EXPECT_EQ(recorded([](Array<float, 1> out, Float x) {
              LocalArray<float, 1> a = with(x);
              out(0) = first(a);
            }),
            "local $0: f32[1:i64]; local_store $0[0] = 0.0; local_store $0[0:i64] = @p1; "
            "%0: f32 = local_load $0[0:i64]; store @p0[0:i64] = %0");
}

TEST(LocalArray, IsFilled) {
  EXPECT_EQ(recorded([](Float x) {
              LocalArray<float, 1> a;
              a.fill(x);
            }),
            "local $0: f32[1:i64]; local_store $0[0] = 0.0; local_store $0[0] = @p0");
}

TEST(LocalArray, InALoopIsNewInEachIteration) {
  EXPECT_EQ(recorded([](Int n) {
              for (Int i : range(n)) {
                LocalArray<int, 1> a;
                a(0) = i;
              }
            }),
            "for %0: i32 in 0 .. @p0 step 1 {;   local $0: i32[1:i64];   local_store $0[0] = 0;   "
            "local_store $0[0:i64] = %0; }");
}

// The message of the exception from capturing `function`.
template <class F>
std::string error_of(const F &function) {
  return message_of<UserError>([&] { captured(function); });
}

std::string line(unsigned number) { return "local_array_test.cpp:" + std::to_string(number) + ": "; }

TEST(LocalArray, AConstantIndexOutsideIsAnErrorThatNamesTheLine) {
  std::string message = error_of([] { LocalArray<float, 3>()(3) = 1; });
  EXPECT_THAT(message, HasSubstr(line(__LINE__ - 1) + "index 3 is outside of a LocalArray of 3 elements"));
  EXPECT_THAT(error_of([] { LocalArray<float, 3>()(-1) = 1; }), HasSubstr("index -1 is outside"));
}

TEST(LocalArray, AnElementBeyondTheBlockIsAnErrorThatNamesTheLine) {
  std::string message = error_of([](Int n) {
    std::optional<Element<float>> element;
    if_(n > 0, [&] { element.emplace(LocalArray<float, 3>()(0)); });
    Float x = *element;
  });
  EXPECT_THAT(message, HasSubstr("a local array is used after the loop or branch that declared it has ended; declare "
                                 "it before the loop or branch"));
}

TEST(LocalArray, AtomicAddIsAnErrorThatNamesTheLine) {
  std::string message = error_of([] {
    LocalArray<float, 3> a;
    atomic_add(a(1), 2);
  });
  EXPECT_THAT(message, HasSubstr(line(__LINE__ - 2) + "atomic_add to an element of a local array"));
}

TEST(LocalArray, AfterAMoveIsAnErrorThatNamesTheLine) {
  std::string message = error_of([] {
    LocalArray<float, 3> a, b = std::move(a);
    a(1) = 2;
  });
  EXPECT_THAT(message, HasSubstr(line(__LINE__ - 2) + "a local array is used after it was moved from"));
}

}  // namespace
}  // namespace samite
