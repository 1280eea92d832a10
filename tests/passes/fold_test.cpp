// The result of an operation with known operands, compared with plain C++.

#include "samite/passes/simplify/fold.h"

#include "samite/ir/parse.h"
#include "samite/ir/print.h"
#include "tests/passes/scalar_operations.h"

#include <gtest/gtest.h>

#include <array>
#include <cfloat>

namespace samite::passes {
namespace {

using namespace ir;
using test::boxed;
using test::evaluate;
using test::unboxed;

constexpr ScalarType scalar_types[] = {
#define SAMITE_ENUMERATOR(name, text, host, bytes, kind) ScalarType::name,
    SAMITE_SCALAR_TYPES(SAMITE_ENUMERATOR)
#undef SAMITE_ENUMERATOR
};

constexpr Op operations[] = {
#define SAMITE_ENUMERATOR(name, text, arity, typing, pure) Op::name,
    SAMITE_OPS(SAMITE_ENUMERATOR)
#undef SAMITE_ENUMERATOR
};

// Ends of the ranges, signed zeros, numbers that round, and small ones.
std::vector<Value> constants(ScalarType type) {
  return test::with_host_type(type, [&]<class T>(T) {
    std::vector<Value> values{boxed(T{0}), boxed(T{1})};
    if constexpr (std::same_as<T, bool>)
      return values;
    else if constexpr (FloatingScalar<T>) {
      using Limits = std::numeric_limits<T>;
      for (T x : {T{-0.0}, T{2}, T(0.1), T(T(1) / 3), T(255.75), T(2147483520), T(2147483648.0), T(1e19), T(16777217),
                  Limits::min(), Limits::denorm_min(), T(3 * Limits::denorm_min()), Limits::max(), Limits::infinity()})
        values.push_back(boxed(x)), values.push_back(boxed(T(-x)));
      values.push_back(boxed(Limits::quiet_NaN()));
      // Between two floats, and just above the middle of two: rounding twice does not give the same.
      values.push_back(boxed(T(1 + FLT_EPSILON / 2.0 + DBL_EPSILON)));
    } else {
      using Limits = std::numeric_limits<T>;
      for (T x :
           {T(2), T(3), T(7), T(31), T(100), T(-1), T(-2), T(-7), Limits::min(), T(Limits::min() + 1), Limits::max(),
            T(Limits::max() - 1), T(Limits::max() / 2 + 1), T(16777217), T((std::int64_t{1} << 53) + (1 << 29) + 1)})
        values.push_back(boxed(x));
    }
    return values;
  });
}

bool takes(Op op, ScalarType type) {
  switch (info(op).typing) {
    case Typing::Same: return type != ScalarType::Bool;
    case Typing::Floating: return is_floating(type);
    case Typing::Integer: return is_integer(type);
    case Typing::Bits: return !is_floating(type);
    case Typing::Compare: return true;
    default: return false;
  }
}

ScalarType result_type(Op op, ScalarType operands) {
  return info(op).typing == Typing::Compare ? ScalarType::Bool : operands;
}

Value with_one_nan(const Value &constant) {
  return test::with_host_type(constant.type(), [&]<class T>(T) { return boxed(unboxed<T>(constant)); });
}

std::string text(const Operation &operation) {
  return to_string(Stmt(Let{0, operation}, {}), {{"x", operation.operands[0].type()}});
}

// Whether the two are equal, up to the sign of a zero if folding may lose it: see passes/simplify/fold.h.
bool same(const Value &actual, const Value &expected, bool zeros_have_signs) {
  if (actual == expected) return true;
  return !zeros_have_signs && actual.type() == expected.type() && actual.is_constant(0) && expected.is_constant(0);
}

TEST(Fold, ConstantsGiveWhatTheOperationGives) {
  for (Op op : operations) {
    for (ScalarType type : scalar_types) {
      if (!takes(op, type)) continue;
      for (const Value &a : constants(type)) {
        for (const Value &b : constants(type)) {
          Operation operation{op, result_type(op, type), {a, b}};
          if (info(op).arity == 1) operation.operands.pop_back();
          auto folded = fold(operation);
          if (!folded) continue;
          ASSERT_TRUE(folded->is_constant()) << text(operation);
          Value expected = evaluate(op, operation.type, operation.operands);
          ASSERT_EQ(to_string(with_one_nan(*folded), {}), to_string(expected, {})) << text(operation);
        }
      }
    }
  }
}

TEST(Fold, OneConstantOperandGivesWhatTheOperationGives) {
  for (Op op : operations) {
    for (ScalarType type : scalar_types) {
      if (info(op).arity != 2 || !takes(op, type)) continue;
      Value unknown = Value::parameter(type, 0);
      for (const Value &constant : constants(type)) {
        for (bool first : {true, false}) {
          auto operands = [&](Value x) { return first ? std::vector{x, constant} : std::vector{constant, x}; };
          Operation operation{op, result_type(op, type), operands(unknown)};
          auto folded = fold(operation);
          if (!folded) continue;
          for (const Value &x : constants(type)) {
            Value actual = *folded == unknown ? x : *folded;
            Value expected = evaluate(op, operation.type, operands(x));
            ASSERT_TRUE(same(with_one_nan(actual), expected, op != Op::Add && op != Op::Sub))
                << text(operation) << " for " << to_string(x, {});
          }
        }
      }
    }
  }
}

TEST(Fold, AnOperandTwiceGivesWhatTheOperationGives) {
  for (Op op : operations) {
    for (ScalarType type : scalar_types) {
      if (info(op).arity != 2 || !takes(op, type)) continue;
      Value unknown = Value::parameter(type, 0);
      Operation operation{op, result_type(op, type), {unknown, unknown}};
      auto folded = fold(operation);
      if (!folded) continue;
      for (const Value &x : constants(type)) {
        Value actual = *folded == unknown ? x : *folded;
        ASSERT_EQ(actual, evaluate(op, operation.type, std::array{x, x}))
            << text(operation) << " for " << to_string(x, {});
      }
    }
  }
}

TEST(Fold, CastsGiveWhatCppGivesOrAreLeftToTheTarget) {
  for (ScalarType from : scalar_types) {
    for (ScalarType to : scalar_types) {
      for (const Value &x : constants(from)) {
        Operation operation{Op::Cast, to, {x}};
        auto folded = fold(operation);
        if (!folded) continue;
        ASSERT_EQ(to_string(with_one_nan(*folded), {}), to_string(evaluate(Op::Cast, to, operation.operands), {}))
            << text(operation);
      }
    }
  }
}

// The folded result of an operation in the kernel language's text; empty if it does not fold. It may name %0 to %9,
// which are parameters of nothing.
std::string folded(const std::string &operation) {
  Kernel kernel = parse_kernel(
      "kernel @k(@i: i32, @u: u64, @x: f32, @p: bool, @a: array<i32, 2>) threads 1 { %0: " + operation + " }");
  auto value = fold(kernel.body[0].as<Let>()->value);
  return value ? to_string(*value, kernel.parameters) : "";
}

TEST(Fold, IntegersWrap) {
  EXPECT_EQ(folded("i32 = add 2147483647, 1"), "-2147483648");
  EXPECT_EQ(folded("u8 = mul 16:u8, 17:u8"), "16:u8");
  EXPECT_EQ(folded("u32 = sub 0:u32, 1:u32"), "4294967295:u32");
  EXPECT_EQ(folded("i64 = neg -9223372036854775808:i64"), "-9223372036854775808:i64");
  EXPECT_EQ(folded("i8 = cast 200"), "-56:i8");
  EXPECT_EQ(folded("u16 = not 1:u16"), "65534:u16");
}

TEST(Fold, UnsignedNumbersCompareAndDivideAsSuch) {
  EXPECT_EQ(folded("bool = gt 18446744073709551615:u64, 1:u64"), "true");
  EXPECT_EQ(folded("u64 = div 18446744073709551615:u64, 2:u64"), "9223372036854775807:u64");
  EXPECT_EQ(folded("u64 = max 18446744073709551615:u64, 1:u64"), "18446744073709551615:u64");
}

TEST(Fold, DivisionsThatHaveNoResultStay) {
  EXPECT_EQ(folded("i32 = div 1, 0"), "");
  EXPECT_EQ(folded("i32 = rem 1, 0"), "");
  EXPECT_EQ(folded("u64 = div 1:u64, 0:u64"), "");
  EXPECT_EQ(folded("i32 = div -2147483648, -1"), "");
  EXPECT_EQ(folded("f32 = div 1.0, 0.0"), "inf");
}

TEST(Fold, FloatingResultsAreRoundedToTheirOwnPrecision) {
  EXPECT_EQ(folded("f32 = add 16777216.0, 1.0"), "16777216.0");
  EXPECT_EQ(folded("f32 = div 1.0, 3.0"), "0.33333334");
  EXPECT_EQ(folded("f32 = mul 3e38, 10.0"), "inf");
  EXPECT_EQ(folded("f64 = mul 3e38:f64, 10.0:f64"), "3e+39:f64");
  EXPECT_EQ(folded("f32 = cast 0.1:f64"), "0.1");
}

// Above half of the way from 2^53 to the next float; as a double it would be half of the way, and then rounded down.
TEST(Fold, WideIntegersAreRoundedToFloatOnce) {
  EXPECT_EQ(folded("f32 = cast 9007199791611905:i64"), folded("f32 = cast 9007200328482816:i64"));
  EXPECT_EQ(folded("f32 = cast 9007199791611905:u64"), folded("f32 = cast 9007200328482816:u64"));
}

TEST(Fold, FloatingNumbersThatNoIntegerHoldsAreLeftToTheTarget) {
  EXPECT_EQ(folded("i32 = cast 2.9"), "2");
  EXPECT_EQ(folded("i32 = cast -2.9"), "-2");
  EXPECT_EQ(folded("i32 = cast 3e9"), "");
  EXPECT_EQ(folded("i32 = cast nan"), "");
  EXPECT_EQ(folded("u32 = cast -0.5"), "0:u32");
  EXPECT_EQ(folded("u32 = cast -2.5"), "");
  EXPECT_EQ(folded("u64 = cast -2.5"), "");
}

TEST(Fold, NeutralElementsGiveTheOtherOperand) {
  EXPECT_EQ(folded("i32 = add @i, 0"), "@i");
  EXPECT_EQ(folded("i32 = add 0, @i"), "@i");
  EXPECT_EQ(folded("f32 = add 0.0, @x"), "@x");
  EXPECT_EQ(folded("f32 = sub @x, 0.0"), "@x");
  EXPECT_EQ(folded("f32 = sub 0.0, @x"), "");
  EXPECT_EQ(folded("f32 = mul 1.0, @x"), "@x");
  EXPECT_EQ(folded("f32 = div @x, 1.0"), "@x");
  EXPECT_EQ(folded("f32 = div 1.0, @x"), "");
  EXPECT_EQ(folded("bool = and @p, true"), "@p");
  EXPECT_EQ(folded("bool = or false, @p"), "@p");
  EXPECT_EQ(folded("u64 = or @u, 0:u64"), "@u");
}

TEST(Fold, AbsorbingElementsGiveThemselvesButNotWhereNaNWouldGetLost) {
  EXPECT_EQ(folded("i32 = mul @i, 0"), "0");
  EXPECT_EQ(folded("u64 = and 0:u64, @u"), "0:u64");
  EXPECT_EQ(folded("bool = and @p, false"), "false");
  EXPECT_EQ(folded("bool = or true, @p"), "true");
  EXPECT_EQ(folded("f32 = mul @x, 0.0"), "");
}

TEST(Fold, SelectsAndCopies) {
  EXPECT_EQ(folded("f32 = copy @x"), "@x");
  EXPECT_EQ(folded("f32 = select true, @x, 1.0"), "@x");
  EXPECT_EQ(folded("f32 = select false, @x, 1.0"), "1.0");
  EXPECT_EQ(folded("f32 = select @p, @x, @x"), "@x");
  EXPECT_EQ(folded("f32 = select @p, 0.0, -0.0"), "");
}

TEST(Fold, NothingIsAssumedOfUnknownOperands) {
  EXPECT_EQ(folded("f32 = sub @x, @x"), "");
  EXPECT_EQ(folded("bool = eq @x, @x"), "");
  EXPECT_EQ(folded("f32 = min @x, @x"), "@x");
  EXPECT_EQ(folded("i32 = cast @x"), "");
  EXPECT_EQ(folded("f32 = neg @x"), "");
}

// An element's indices are constants often, and mean nothing for its value.
TEST(Fold, LoadsStay) {
  EXPECT_EQ(folded("i32 = load @a[1, 0]"), "");
  EXPECT_EQ(folded("i32 = load @a[1, 1]"), "");
  EXPECT_EQ(folded("i32 = exchange @a[0, 0]"), "");
}

}  // namespace
}  // namespace samite::passes
