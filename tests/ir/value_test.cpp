// Atoms: constants in one form for each number, and their conversions.

#include "samite/ir/value.h"

#include <gtest/gtest.h>
#include <cmath>
#include <limits>

namespace samite::ir {
namespace {

TEST(Value, FloatConstantsAreRoundedToFloat) {
  EXPECT_EQ(Value::constant(ScalarType::Float32, 0.1), Value::constant(ScalarType::Float32, double{0.1f}));
  EXPECT_EQ(Value::constant(ScalarType::Float32, 0.1).as_double(), double{0.1f});
  EXPECT_EQ(Value::constant(ScalarType::Float64, 0.1).as_double(), 0.1);
}

TEST(Value, IntegerConstantsWrapAsConversionsInCpp) {
  EXPECT_EQ(Value::constant(ScalarType::UInt8, std::int64_t{-1}).as_int(), 255);
  EXPECT_EQ(Value::constant(ScalarType::Int8, std::int64_t{128}).as_int(), -128);
  EXPECT_EQ(Value::constant(ScalarType::Int16, std::int64_t{65535}).as_int(), -1);
  EXPECT_EQ(Value::constant(ScalarType::UInt32, std::int64_t{-1}).as_int(), 4294967295);
  EXPECT_EQ(Value::constant(ScalarType::Bool, std::int64_t{5}), Value::boolean(true));
}

TEST(Value, LargestUnsignedIsPositiveAsADouble) {
  EXPECT_EQ(Value::constant(ScalarType::UInt64, std::int64_t{-1}).as_double(), std::ldexp(1.0, 64));
  EXPECT_EQ(Value::constant(ScalarType::Int64, std::int64_t{-1}).as_double(), -1.0);
}

TEST(Value, ZeroOfEveryTypeIsZero) {
  for (ScalarType type : {ScalarType::Bool, ScalarType::Int32, ScalarType::UInt64, ScalarType::Float32}) {
    EXPECT_TRUE(Value::zero(type).is_constant(0));
    EXPECT_EQ(Value::zero(type).type(), type);
  }
}

TEST(Value, ConstantsOfDifferentTypesDiffer) {
  EXPECT_NE(Value::constant(ScalarType::Float32, 1.0), Value::constant(ScalarType::Float64, 1.0));
  EXPECT_NE(Value::zero(ScalarType::Int32), Value::zero(ScalarType::Int64));
}

TEST(Value, EqualityTellsNegativeZeroButIsConstantDoesNot) {
  Value negative = Value::constant(ScalarType::Float32, -0.0);
  EXPECT_NE(negative, Value::zero(ScalarType::Float32));
  EXPECT_TRUE(negative.is_constant(0));
}

TEST(Value, LocalsAndParametersAreNotConstants) {
  Value local = Value::local(ScalarType::Int32, 3), parameter = Value::parameter(ScalarType::Int32, 3);
  EXPECT_TRUE(local.is_local());
  EXPECT_EQ(local.id(), 3u);
  EXPECT_FALSE(local.is_constant(3));
  EXPECT_EQ(parameter.kind(), Value::Kind::Parameter);
  EXPECT_EQ(parameter.parameter_index(), 3u);
  EXPECT_NE(local, parameter);
}

}  // namespace
}  // namespace samite::ir
