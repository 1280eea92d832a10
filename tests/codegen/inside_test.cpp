// Which branches of a thread loop are taken by all lanes of the vectors that are inside of the arrays.
#include "samite/codegen/inside.h"

#include "samite/ir/parse.h"

#include <fmt/format.h>
#include <gmock/gmock.h>

namespace samite::codegen {
namespace {

using testing::IsEmpty;
using testing::SizeIs;

// The loop's body, in which %3 is the index, %0 a bool, %1 and %2 integers from before the loop.
struct Found {
  ir::Kernel kernel;
  Inside inside;

  explicit Found(const std::string &body, const std::string &begin = "0")
      : kernel(ir::parse_kernel(fmt::format(R"(kernel @k(@x: array<f32, 1>, @b: bool) blocks 1 of 32 {{
                                                 %1: i32 = extent @x, 0
                                                 %2: i32 = mul %1, 3
                                                 %0: bool = ge %2, 5
                                                 for.thread %3: i32 in {} .. 64 step 1 {{
                                                   {}
                                                 }}
                                               }})",
                                            begin, body))) {
    for (const ir::Stmt &stmt : kernel.body)
      if (const ir::For *loop = stmt.as<ir::For>()) inside = inside_of(*loop);
  }

  std::string count() const {
    return inside.count(64, [](const ir::Value &value) {
      return value.is_local() ? fmt::format("v{}", value.id()) : fmt::format("{}", value.as_int());
    });
  }
};

TEST(Inside, ABranchThatAsksForBothEnds) {
  const Found found(R"(%4: i32 = add %2, %3
                       %5: bool = ge %4, 0
                       %6: bool = lt %4, %1
                       %7: bool = and %5, %6
                       %8: bool = and %0, %7
                       if %8 { store @x[%4] = 1.0 })");
  EXPECT_THAT(found.inside.branches, SizeIs(1));
  EXPECT_EQ(found.count(), "v0 && i64(v2) >= i64(0) ? up_to(i64(64), v1, v2) : 0");
}

TEST(Inside, BranchesThatAskForSeveralArrays) {
  const Found found(R"(%4: bool = lt %3, %1
                       if %4 { store @x[%3] = 1.0 }
                       %5: bool = lt %3, %2
                       if %5 { store @x[%3] = 2.0 })");
  EXPECT_THAT(found.inside.branches, SizeIs(2));
  EXPECT_EQ(found.count(), "up_to(up_to(i64(64), v1, 0), v2, 0)");
}

TEST(Inside, WhatElseABranchAsksIsNotInside) {
  const auto branches = [](const std::string &condition, const std::string &begin = "0") {
    return Found(condition + "\n if %9 { store @x[%3] = 1.0 }", begin).inside.branches;
  };
  EXPECT_THAT(branches("%9: bool = lt %3, %1"), SizeIs(1));
  EXPECT_THAT(branches("%9: bool = lt %3, %1", "1"), IsEmpty()) << "the loop begins elsewhere";
  EXPECT_THAT(branches("%9: bool = gt %3, %1"), IsEmpty()) << "the last vectors are inside";
  EXPECT_THAT(branches("%4: bool = lt %3, %1\n %9: bool = or %4, %0"), IsEmpty());
  EXPECT_THAT(branches("%4: i32 = mul %3, 2\n %9: bool = lt %4, %1"), IsEmpty());
  EXPECT_THAT(branches("%4: i32 = sub %2, %3\n %9: bool = lt %4, %1"), IsEmpty());
  EXPECT_THAT(branches("%4: i32 = mul %3, 2\n %9: bool = lt %3, %4"), IsEmpty()) << "the bound is the lane's";
  EXPECT_THAT(branches("%4: f32 = load @x[%3]\n %9: bool = lt %4, 1.0"), IsEmpty());
}

}  // namespace
}  // namespace samite::codegen
