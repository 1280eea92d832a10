// Prints and checks as the front end records them.
#include "samite/lang/print.h"

#include "samite/base/error.h"
#include "tests/lang/captured.h"
#include "tests/runtime/message_of.h"

#include <gmock/gmock.h>

namespace samite {
namespace {

using test::recorded;
using testing::HasSubstr;

TEST(PrintStatement, HasTextsAndValuesInOrder) {
  EXPECT_EQ(recorded([](Float x, Int i) { print("x(", i, ") = ", x); }), "print \"x(\", @p1, \") = \", @p0");
  EXPECT_EQ(recorded([](Float x) { print(x); }), "print @p0");
  EXPECT_EQ(recorded([](Array<const int, 1> a) {
              const Int extent = a.extent(0);
              print(a(2), " of ", extent);
            }),
            "%0: i32 = extent @p0, 0; %1: i32 = load @p0[2:i64]; print %1, \" of \", %0");
}

TEST(PrintStatement, PartsOfTheHostAreText) {
  EXPECT_EQ(recorded([](Bool p) { print("step ", 3, ", ", 0.5f, ' ', 2.25, std::string(" is "), true, ": ", p); }),
            "print \"step 3, 0.5 2.25 is true: \", @p0");
  EXPECT_EQ(recorded([] { print(-7); }), "print \"-7\"");
}

TEST(PrintStatement, SaysTheValueNow) {
  EXPECT_EQ(recorded([](Int i) {
              print(i);
              i += 1;
              print(i);
            }),
            "print @p0; %0: i32 = add @p0, 1; print %0");
}

TEST(CheckStatement, HasAConditionAndAMessage) {
  EXPECT_EQ(recorded([](Float x) { check(x > 0, "x is ", x); }), "%0: bool = gt @p0, 0.0; check %0, \"x is \", @p0");
  EXPECT_EQ(recorded([](Array<const bool, 1> ok) { check(ok(0)); }), "%0: bool = load @p0[0:i64]; check %0");
}

TEST(PrintStatement, OutsideOfAKernelIsAnErrorThatNamesTheLine) {
  const int line = __LINE__ + 1;
  std::string message = message_of<UserError>([] { print("hello"); });
  EXPECT_THAT(message, HasSubstr("print_test.cpp:" + std::to_string(line)));
  EXPECT_THAT(message, HasSubstr("outside of a kernel"));
}

}  // namespace
}  // namespace samite
