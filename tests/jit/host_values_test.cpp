// The host computes the same between kernels as a kernel would.
#include "samite/jit/host_values.h"

#include "samite/base/error.h"
#include "samite/samite.h"
#include "tests/runtime/message_of.h"

#include <gmock/gmock.h>

#include <limits>

namespace samite::test {
namespace {

using ir::Op;
using ir::Value;

constexpr std::int64_t least32 = std::numeric_limits<std::int32_t>::min();
constexpr std::int64_t least64 = std::numeric_limits<std::int64_t>::min();

Value constant(ScalarType type, std::int64_t value) { return Value::constant(type, value); }

// Operations on constants, most of which `fold` can compute; and on a local, which it cannot.
Value computed(Op op, ScalarType type, const std::vector<Value> &operands) {
  schedules::Program program;
  program.local_count = 8;
  jit::HostValues values(program, {});
  std::vector<Value> locals;
  for (std::size_t i = 0; i < operands.size(); ++i) {
    values.define(static_cast<ir::LocalId>(i), operands[i]);
    locals.push_back(Value::local(operands[i].type(), static_cast<ir::LocalId>(i)));
  }
  values.define(ir::Let{7, {op, type, locals}});
  return values.of(Value::local(type, 7));
}

std::int64_t of(Op op, ScalarType type, std::int64_t a, std::int64_t b) {
  return computed(op, type, {constant(type, a), constant(type, b)}).as_int();
}
bool holds(Op op, ScalarType type, std::int64_t a, std::int64_t b) {
  return computed(op, ScalarType::Bool, {constant(type, a), constant(type, b)}).bits() != 0;
}

TEST(HostValues, WrapRoundAtTheirTypesWidth) {
  EXPECT_EQ(of(Op::Add, ScalarType::Int32, 2147483647, 1), least32);
  EXPECT_EQ(of(Op::Add, ScalarType::Int64, 2147483647, 1), 2147483648);
  EXPECT_EQ(of(Op::Sub, ScalarType::UInt32, 0, 1), 4294967295);
  EXPECT_EQ(of(Op::Mul, ScalarType::Int32, 65536, 65536), 0);
  EXPECT_EQ(of(Op::Mul, ScalarType::UInt64, -1, 2), -2);
  EXPECT_EQ(computed(Op::Neg, ScalarType::Int32, {constant(ScalarType::Int32, least32)}).as_int(), least32);
  EXPECT_EQ(computed(Op::Abs, ScalarType::Int64, {constant(ScalarType::Int64, -5)}).as_int(), 5);
  EXPECT_EQ(computed(Op::Abs, ScalarType::UInt32, {constant(ScalarType::UInt32, -5)}).as_int(), 4294967291);
}

TEST(HostValues, QuotientsAreThoseOfKernels) {
  EXPECT_EQ(of(Op::Div, ScalarType::Int32, -7, 2), -3);
  EXPECT_EQ(of(Op::Rem, ScalarType::Int32, -7, 2), -1);
  EXPECT_EQ(of(Op::Div, ScalarType::UInt32, -7, 2), 2147483644);
  EXPECT_EQ(of(Op::Div, ScalarType::Int32, 7, 0), 0);
  EXPECT_EQ(of(Op::Rem, ScalarType::Int32, 7, 0), 7);
  EXPECT_EQ(of(Op::Div, ScalarType::Int32, 7, -1), -7);
  EXPECT_EQ(of(Op::Div, ScalarType::Int32, least32, -1), least32);
  EXPECT_EQ(of(Op::Rem, ScalarType::Int32, least32, -1), 0);
  EXPECT_EQ(of(Op::Div, ScalarType::Int64, least64, -1), least64);
  EXPECT_EQ(of(Op::Rem, ScalarType::Int64, least64, -1), 0);
  EXPECT_EQ(of(Op::Div, ScalarType::UInt64, 5, -1), 0);
}

TEST(HostValues, ShiftsCountModuloTheWidth) {
  EXPECT_EQ(of(Op::ShiftLeft, ScalarType::Int32, 3, 33), 6);
  EXPECT_EQ(of(Op::ShiftLeft, ScalarType::Int32, 1, 31), least32);
  EXPECT_EQ(of(Op::ShiftRight, ScalarType::Int32, -8, 1), -4);
  EXPECT_EQ(of(Op::ShiftRight, ScalarType::UInt32, -8, 1), 2147483644);
  EXPECT_EQ(of(Op::ShiftRight, ScalarType::UInt64, -8, 60), 15);
  EXPECT_EQ(of(Op::ShiftRight, ScalarType::Int64, -8, 66), -2);
}

TEST(HostValues, CompareAsTheirTypesDo) {
  EXPECT_TRUE(holds(Op::Less, ScalarType::Int32, -1, 1));
  EXPECT_FALSE(holds(Op::Less, ScalarType::UInt32, -1, 1));
  EXPECT_TRUE(holds(Op::GreaterEqual, ScalarType::Int64, 3, 3));
  EXPECT_TRUE(holds(Op::NotEqual, ScalarType::Bool, 0, 1));
  EXPECT_EQ(of(Op::Min, ScalarType::Int32, -1, 1), -1);
  EXPECT_EQ(of(Op::Min, ScalarType::UInt32, -1, 1), 1);
  EXPECT_EQ(of(Op::Max, ScalarType::UInt64, -1, 1), -1);
}

TEST(HostValues, Bits) {
  EXPECT_EQ(of(Op::And, ScalarType::Int32, 12, 10), 8);
  EXPECT_EQ(of(Op::Or, ScalarType::Int64, 12, 10), 14);
  EXPECT_EQ(of(Op::Xor, ScalarType::UInt32, 12, 10), 6);
  EXPECT_EQ(of(Op::And, ScalarType::Bool, 1, 0), 0);
  EXPECT_EQ(computed(Op::Not, ScalarType::Bool, {Value::boolean(false)}).bits(), 1u);
  EXPECT_EQ(computed(Op::Not, ScalarType::Int32, {constant(ScalarType::Int32, 5)}).as_int(), -6);
}

TEST(HostValues, SelectAndCast) {
  const auto select = [](bool condition) {
    return computed(Op::Select, ScalarType::Int32,
                    {Value::boolean(condition), constant(ScalarType::Int32, 3), constant(ScalarType::Int32, 4)})
        .as_int();
  };
  EXPECT_EQ(select(true), 3);
  EXPECT_EQ(select(false), 4);
  const auto cast = [](ScalarType to, Value from) { return computed(Op::Cast, to, {from}).as_int(); };
  EXPECT_EQ(cast(ScalarType::Int32, constant(ScalarType::Int64, 4294967295)), -1);
  EXPECT_EQ(cast(ScalarType::Int64, constant(ScalarType::UInt32, -1)), 4294967295);
  EXPECT_EQ(cast(ScalarType::Int64, constant(ScalarType::Int32, -1)), -1);
  EXPECT_EQ(cast(ScalarType::Bool, constant(ScalarType::Int32, 256)), 1);
  EXPECT_EQ(cast(ScalarType::Int32, Value::boolean(true)), 1);
  EXPECT_EQ(cast(ScalarType::Int32, Value::constant(ScalarType::Float32, -2.75)), -2);
  EXPECT_EQ(cast(ScalarType::Int64, Value::constant(ScalarType::Float64, 3e10)), 30000000000);
}

TEST(HostValues, ExtentsAndParametersAreTheArguments) {
  const AnyBuffer matrix(Device::cpu(), ScalarType::Float32, {3, 5});
  float factor = 0.1f;
  std::uint64_t bits = 0;
  std::memcpy(&bits, &factor, sizeof factor);
  const std::vector<jit::Argument> arguments{{&matrix, 0}, {nullptr, 0xfffffffeu}, {nullptr, bits}, {nullptr, 1}};
  schedules::Program program;
  program.name = "p";
  program.local_count = 2;
  jit::HostValues values(program, arguments);
  values.define(ir::Let{0, {Op::Extent, ScalarType::Int32, {}, 0, 1}});
  const Value below = Value::parameter(ScalarType::Int32, 1), real = Value::parameter(ScalarType::Float32, 2);
  values.define(ir::Let{1, {Op::Add, ScalarType::Int32, {Value::local(ScalarType::Int32, 0), below}}});
  EXPECT_EQ(values.integer(Value::local(ScalarType::Int32, 1)), 3);
  EXPECT_EQ(values.bits_of(real), bits) << "as it was given";
  EXPECT_EQ(values.bits_of(below), 0xfffffffeu);
  EXPECT_EQ(values.text({{"n is ", " and x is ", ", ", ""}, {below, real, Value::parameter(ScalarType::Bool, 3)}}),
            "n is -2 and x is 0.1, true");
}

TEST(HostValues, WhatIsNoIntegerIsAMistakeOfTheLowering) {
  EXPECT_THAT(
      message_of<InternalError>([] { computed(Op::Sin, ScalarType::Float32, {Value::zero(ScalarType::Float32)}); }),
      testing::HasSubstr("the host cannot compute 'sin'"));
}

}  // namespace
}  // namespace samite::test
