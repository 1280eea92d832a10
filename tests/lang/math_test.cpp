// Every mathematical function of the IR has its overload, under its own name.

#include "tests/lang/captured.h"

#include <gtest/gtest.h>

#include <map>

namespace samite {
namespace {

using ir::Op;
using ir::Typing;
using test::recorded;

constexpr Op operations[] = {
#define SAMITE_ENUMERATOR(name, text, arity, typing, pure) Op::name,
    SAMITE_OPS(SAMITE_ENUMERATOR)
#undef SAMITE_ENUMERATOR
};

// By name: the captured statements of a function of one Float, or of two.
std::map<std::string, std::string> float_functions() {
  return {
#define SAMITE_UNARY(name) {#name, recorded([](Float a) { return name(a); })},
#define SAMITE_BINARY(name) {#name, recorded([](Float a, Float b) { return name(a, b); })},
      SAMITE_UNARY(sqrt) SAMITE_UNARY(rsqrt) SAMITE_UNARY(cbrt) SAMITE_UNARY(exp) SAMITE_UNARY(exp2) SAMITE_UNARY(expm1)
          SAMITE_UNARY(fast_exp2) SAMITE_UNARY(log) SAMITE_UNARY(log2) SAMITE_UNARY(log10) SAMITE_UNARY(log1p)
              SAMITE_UNARY(sin) SAMITE_UNARY(cos) SAMITE_UNARY(tan) SAMITE_UNARY(asin) SAMITE_UNARY(acos)
                  SAMITE_UNARY(atan) SAMITE_UNARY(sinh) SAMITE_UNARY(cosh) SAMITE_UNARY(tanh) SAMITE_UNARY(asinh)
                      SAMITE_UNARY(acosh) SAMITE_UNARY(atanh) SAMITE_UNARY(erf) SAMITE_UNARY(erfc) SAMITE_UNARY(lgamma)
                          SAMITE_UNARY(digamma) SAMITE_UNARY(floor) SAMITE_UNARY(ceil) SAMITE_UNARY(round)
                              SAMITE_UNARY(trunc) SAMITE_UNARY(abs) SAMITE_UNARY(stop_gradient) SAMITE_BINARY(atan2)
                                  SAMITE_BINARY(pow) SAMITE_BINARY(hypot) SAMITE_BINARY(fmod) SAMITE_BINARY(copysign)
                                      SAMITE_BINARY(min) SAMITE_BINARY(max)
#undef SAMITE_UNARY
#undef SAMITE_BINARY
  };
}

TEST(Math, EveryFunctionOfTheTableCanBeWritten) {
  auto functions = float_functions();
  for (Op op : operations) {
    const ir::OpInfo &row = ir::info(op);
    bool is_function = row.typing == Typing::Floating || op == Op::Abs || op == Op::Min || op == Op::Max;
    if (!is_function || row.arity > 2) continue;
    if (op == Op::Norm) continue;  // of vectors
    std::string name(row.name);
    EXPECT_EQ(functions[name], "%0: f32 = " + name + (row.arity == 1 ? " @p0" : " @p0, @p1"));
  }
}

TEST(Math, FusedMultiplyAddHasThreeArgumentsOfOneType) {
  EXPECT_EQ(recorded([](Float a, Float b, Float c) { return fma(a, b, c); }), "%0: f32 = fma @p0, @p1, @p2");
  EXPECT_EQ(recorded([](Float a, Double b) { return fma(a, 2, b); }),
            "%0: f64 = cast @p0; %1: f64 = fma %0, 2.0:f64, @p1");
}

TEST(Math, BitsOfIntegersAreCountedInInt) {
  EXPECT_EQ(recorded([](UInt a) { return popcount(a); }), "%0: u32 = popcount @p0; %1: i32 = cast %0");
  EXPECT_EQ(recorded([](Int a) { return clz(a); }), "%0: i32 = clz @p0");
  EXPECT_EQ(recorded([](Int64 a) { return ctz(a); }), "%0: i64 = ctz @p0; %1: i32 = cast %0");
}

TEST(Math, BitCastsKeepTheNumberOfBytes) {
  EXPECT_EQ(recorded([](Float a) { return bit_cast<UInt>(a); }), "%0: u32 = bit_cast @p0");
  EXPECT_EQ(recorded([](Int64 a) { return bit_cast<Double>(a); }), "%0: f64 = bit_cast @p0");
}

TEST(Math, ArgumentsMeetInOneType) {
  EXPECT_EQ(recorded([](Double a) { return exp(a); }), "%0: f64 = exp @p0");
  EXPECT_EQ(recorded([](Float a, Double b) { return pow(a, b); }), "%0: f64 = cast @p0; %1: f64 = pow %0, @p1");
  EXPECT_EQ(recorded([](Float a, Int b) { return atan2(b, a); }), "%0: f32 = cast @p1; %1: f32 = atan2 %0, @p0");
  EXPECT_EQ(recorded([](Int a, Int8 b) { return min(a, b); }), "%0: i32 = cast @p1; %1: i32 = min @p0, %0");
}

TEST(Math, ALiteralTakesTheTypeOfTheOtherArgument) {
  EXPECT_EQ(recorded([](Float a) { return pow(a, 2); }), "%0: f32 = pow @p0, 2.0");
  EXPECT_EQ(recorded([](Float a) { return pow(2.0, a); }), "%0: f32 = pow 2.0, @p0");
  EXPECT_EQ(recorded([](UInt8 a) { return max(a, 7); }), "%0: u8 = max @p0, 7:u8");
}

TEST(Math, ArrayElementsAreLoaded) {
  EXPECT_EQ(recorded([](Array<const double, 1> a) { return sqrt(a(0)); }),
            "%0: f64 = load @p0[0:i64]; %1: f64 = sqrt %0");
  EXPECT_EQ(recorded([](Array<float, 1> a) { return hypot(a(0), a(1)); }),
            "%0: f32 = load @p0[0:i64]; %1: f32 = load @p0[1:i64]; %2: f32 = hypot %0, %1");
}

TEST(Math, IntegersHaveMinMaxAndAbs) {
  EXPECT_EQ(recorded([](Int64 a) { return abs(a); }), "%0: i64 = abs @p0");
  EXPECT_EQ(recorded([](UInt a, UInt b) { return min(a, b); }), "%0: u32 = min @p0, @p1");
}

TEST(Math, ClampIsMaxThenMin) {
  EXPECT_EQ(recorded([](Float x) { return clamp(x, 0, 1); }), "%0: f32 = max @p0, 0.0; %1: f32 = min %0, 1.0");
  EXPECT_EQ(recorded([](Int x, Int low, Int high) { return clamp(x, low, high); }),
            "%0: i32 = max @p0, @p1; %1: i32 = min %0, @p2");
}

// So that a program may be `using namespace samite` and still mean <cmath> on the host.
TEST(Math, NumbersOfTheHostAreNotTraced) {
  using std::max;
  using std::sqrt;
  EXPECT_EQ(sqrt(4.0f), 2.0f);
  EXPECT_EQ(max(1, 2), 2);
}

template <class A>
concept HasSqrt = requires(A a) { sqrt(a); };
template <class A>
concept HasAbs = requires(A a) { samite::abs(a); };

TEST(Math, NeitherIntegersNorBoolHaveFloatingFunctions) {
  EXPECT_FALSE(HasSqrt<Int>);
  EXPECT_FALSE(HasSqrt<Bool>);
  EXPECT_FALSE(HasSqrt<Element<const int>>);
  EXPECT_FALSE(HasAbs<Bool>);
}

}  // namespace
}  // namespace samite
