#include "samite/passes/simplify/computed.h"

#include <gtest/gtest.h>

namespace samite::passes {
namespace {

using namespace ir;

Operation operation(Op op, LocalId a, LocalId b) {
  return {op, ScalarType::Int32, {Value::local(ScalarType::Int32, a), Value::local(ScalarType::Int32, b)}};
}

TEST(Computed, FindsWhatCommutesInEitherOrder) {
  const Operation sum = operation(Op::Add, 1, 2), difference = operation(Op::Sub, 1, 2);
  Computed computed;
  computed.add(sum, 0, 7);
  computed.add(difference, 0, 8);
  EXPECT_EQ(computed.find(operation(Op::Add, 2, 1), 0), 7u);
  EXPECT_EQ(computed.find(operation(Op::Sub, 1, 2), 0), 8u);
  EXPECT_EQ(computed.find(operation(Op::Sub, 2, 1), 0), std::nullopt);
  EXPECT_EQ(computed.find(sum, 1), std::nullopt) << "of another epoch";
}

// More than there is room for at first, in scopes within scopes.
TEST(Computed, ForgetsAScopeAndKeepsWhatIsAround) {
  constexpr LocalId count = 5000;
  std::vector<Operation> operations;
  for (LocalId i = 0; i < count; ++i) operations.push_back(operation(Op::Sub, i, i / 2));
  Computed computed;
  for (LocalId i = 0; i < count; ++i) computed.add(operations[i], 0, i);
  computed.shrink(1234);
  EXPECT_EQ(computed.size(), 1234u);
  for (LocalId i = 0; i < count; ++i)
    EXPECT_EQ(computed.find(operations[i], 0), i < 1234 ? std::optional(i) : std::nullopt) << i;
  computed.add(operations[4321], 0, 9);
  EXPECT_EQ(computed.find(operations[4321], 0), 9u);
}

}  // namespace
}  // namespace samite::passes
