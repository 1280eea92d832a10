// The values that the first iteration of a loop over elements computes.
#include "samite/passes/analysis/first_iteration.h"

#include "samite/ir/parse.h"
#include "samite/ir/print.h"
#include "samite/ir/visit.h"

#include <gtest/gtest.h>

namespace samite::passes {
namespace {

// The loop's index is %1; %0 is known before it.
class FirstIterationTest : public testing::Test {
 protected:
  explicit FirstIterationTest(const std::string &body = R"(
      %2: i32 = mul %1, 12
      %3: i32 = add %2, %0
      %4: i32 = div %1, 7
      %5: i32 = rem %3, 5
      %6: i32 = sub %0, %4
      %7: i32 = load @in[%1]
      %8: i32 = add %7, 8
      %9: i32 = mul %0, %0
      %10: i32 = min %2, %9
      if true {
        %11: i32 = add %1, 16
        store @in[%11] = %8
      })")
      : kernel_(ir::parse_kernel("kernel @k(@in: array<i32, 1>, @n: i32) threads 1 {\n%0: i32 = mul @n, 8\n"
                                 "for %1: i32 in 0 .. @n step 1 {\n" +
                                 body + "\n}\n}")),
        forms_(kernel_),
        first_(forms_, loop()) {}

  const ir::For &loop() const { return *kernel_.body[1].as<ir::For>(); }
  static ir::Value local(ir::LocalId id) { return ir::Value::local(ScalarType::Int32, id); }
  // The divisor of a local.
  std::int64_t divisor(ir::LocalId id) const { return first_.divisor(local(id)); }
  // The statements that compute it outside of the loop, and the result; empty if it is not such a value.
  std::string computed(ir::LocalId id) const {
    Builder build(100);
    const std::optional<ir::Value> value = first_.computed(local(id), build);
    if (!value) return "";
    std::string text;
    for (const ir::Stmt &stmt : build.close({})) text += ir::to_string(stmt, kernel_.parameters) + " ";
    return text + "= " + ir::to_string(*value, kernel_.parameters);
  }

  const ir::Kernel kernel_;
  const IndexForms forms_;
  const FirstIteration first_;
};

TEST_F(FirstIterationTest, DivisorsAreThoseOfIndexZero) {
  EXPECT_EQ(divisor(1), 64);
  EXPECT_EQ(divisor(0), 8);
  EXPECT_EQ(divisor(2), 64);  // 0 * 12
  EXPECT_EQ(divisor(3), 8);   // 0 + 8 n
  EXPECT_EQ(divisor(4), 64);  // 0 / 7
  EXPECT_EQ(divisor(6), 8);
  EXPECT_EQ(divisor(9), 64);
}

TEST_F(FirstIterationTest, WhatMayBeAnythingHasNone) {
  EXPECT_EQ(divisor(5), 1);   // the remainder of a number that is not zero
  EXPECT_EQ(divisor(7), 1);   // loaded
  EXPECT_EQ(divisor(8), 1);   // of loaded values
  EXPECT_EQ(divisor(10), 1);  // no rule
  EXPECT_EQ(divisor(11), 1);  // in a branch
}

TEST_F(FirstIterationTest, ValuesAreComputedOutside) {
  EXPECT_EQ(computed(1), "= 0");
  EXPECT_EQ(computed(0), "= %0");
  EXPECT_EQ(computed(2), "= 0");
  EXPECT_EQ(computed(3), "= %0");
  EXPECT_EQ(computed(6), "= %0");
  EXPECT_EQ(computed(5), "%100: i32 = rem %0, 5 = %100");
}

TEST_F(FirstIterationTest, WhatReadsMemoryOrIsInABranchIsNot) {
  EXPECT_EQ(computed(7), "");
  EXPECT_EQ(computed(8), "");
  EXPECT_EQ(computed(11), "");
}

}  // namespace
}  // namespace samite::passes
