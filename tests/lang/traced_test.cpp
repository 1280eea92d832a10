// Operators, literals, promotions and casts of traced values.

#include "samite/base/error.h"
#include "tests/lang/captured.h"
#include "tests/runtime/message_of.h"

#include <cmath>
#include <tuple>

namespace samite {
namespace {

using test::recorded;
using ::testing::HasSubstr;

TEST(Traced, Arithmetic) {
  EXPECT_EQ(recorded([](Float a, Float b) { return a + b; }), "%0: f32 = add @p0, @p1");
  EXPECT_EQ(recorded([](Float a, Float b) { return a - b; }), "%0: f32 = sub @p0, @p1");
  EXPECT_EQ(recorded([](Double a, Double b) { return a * b; }), "%0: f64 = mul @p0, @p1");
  EXPECT_EQ(recorded([](Double a, Double b) { return a / b; }), "%0: f64 = div @p0, @p1");
  EXPECT_EQ(recorded([](Int a, Int b) { return a / b; }), "%0: i32 = div @p0, @p1");
  EXPECT_EQ(recorded([](UInt64 a, UInt64 b) { return a % b; }), "%0: u64 = rem @p0, @p1");
  EXPECT_EQ(recorded([](Float a) { return -a; }), "%0: f32 = neg @p0");
}

TEST(Traced, Bits) {
  EXPECT_EQ(recorded([](UInt a, UInt b) { return a & b; }), "%0: u32 = and @p0, @p1");
  EXPECT_EQ(recorded([](UInt8 a, UInt8 b) { return a | b; }), "%0: u8 = or @p0, @p1");
  EXPECT_EQ(recorded([](Int16 a, Int16 b) { return a ^ b; }), "%0: i16 = xor @p0, @p1");
  EXPECT_EQ(recorded([](Int64 a) { return ~a; }), "%0: i64 = not @p0");
  EXPECT_EQ(recorded([](UInt16 a, UInt16 b) { return a << b; }), "%0: u16 = shl @p0, @p1");
  EXPECT_EQ(recorded([](Int a, Int b) { return a >> b; }), "%0: i32 = shr @p0, @p1");
}

TEST(Traced, Comparisons) {
  EXPECT_EQ(recorded([](Float a, Float b) { return a == b; }), "%0: bool = eq @p0, @p1");
  EXPECT_EQ(recorded([](Float a, Float b) { return a != b; }), "%0: bool = ne @p0, @p1");
  EXPECT_EQ(recorded([](Int a, Int b) { return a < b; }), "%0: bool = lt @p0, @p1");
  EXPECT_EQ(recorded([](Int a, Int b) { return a <= b; }), "%0: bool = le @p0, @p1");
  EXPECT_EQ(recorded([](UInt8 a, UInt8 b) { return a > b; }), "%0: bool = gt @p0, @p1");
  EXPECT_EQ(recorded([](UInt8 a, UInt8 b) { return a >= b; }), "%0: bool = ge @p0, @p1");
  EXPECT_EQ(recorded([](Bool a, Bool b) { return a == b; }), "%0: bool = eq @p0, @p1");
}

TEST(Traced, LogicOfBool) {
  EXPECT_EQ(recorded([](Bool a, Bool b) { return a && b; }), "%0: bool = and @p0, @p1");
  EXPECT_EQ(recorded([](Bool a, Bool b) { return a || b; }), "%0: bool = or @p0, @p1");
  EXPECT_EQ(recorded([](Bool a, Bool b) { return a & b; }), "%0: bool = and @p0, @p1");
  EXPECT_EQ(recorded([](Bool a, Bool b) { return a | b; }), "%0: bool = or @p0, @p1");
  EXPECT_EQ(recorded([](Bool a, Bool b) { return a ^ b; }), "%0: bool = xor @p0, @p1");
  EXPECT_EQ(recorded([](Bool a) { return !a; }), "%0: bool = not @p0");
  EXPECT_EQ(recorded([](Bool a) { return a && true; }), "%0: bool = and @p0, true");
}

TEST(Traced, AndAndOrEvaluateBothSides) {
  EXPECT_EQ(recorded([](Array<const float, 1> a, Int i) { return i > 0 && a(i) > 0; }),
            "%0: bool = gt @p1, 0; %1: f32 = load @p0[@p1]; %2: bool = gt %1, 0.0; %3: bool = and %0, %2");
}

TEST(Traced, CompoundAssignment) {
  EXPECT_EQ(recorded([](Float a, Float b) { a += b, a -= b, a *= b, a /= 2; }),
            "%0: f32 = add @p0, @p1; %1: f32 = sub %0, @p1; %2: f32 = mul %1, @p1; %3: f32 = div %2, 2.0");
  EXPECT_EQ(recorded([](UInt a, UInt8 b) { a %= 5, a &= b, a |= 1u, a ^= a; }),
            "%0: u32 = rem @p0, 5:u32; %1: u32 = cast @p1; %2: u32 = and %0, %1; %3: u32 = or %2, 1:u32; "
            "%4: u32 = xor %3, %3");
  EXPECT_EQ(recorded([](Bool a, Bool b) { a &= b, a |= true, a ^= b; }),
            "%0: bool = and @p0, @p1; %1: bool = or %0, true; %2: bool = xor %1, @p1");
}

TEST(Traced, LiteralsTakeTheTypeOfTheOperandBesideThem) {
  EXPECT_EQ(recorded([](Float x) { return x * 2; }), "%0: f32 = mul @p0, 2.0");
  EXPECT_EQ(recorded([](Float x) { return 0.1 + x; }), "%0: f32 = add 0.1, @p0");
  EXPECT_EQ(recorded([](Double x) { return 0.1f < x; }), "%0: bool = lt 0.10000000149011612:f64, @p0");
  EXPECT_EQ(recorded([](Int x) { return 1 - x; }), "%0: i32 = sub 1, @p0");
  EXPECT_EQ(recorded([](UInt8 x) { return x + 255; }), "%0: u8 = add @p0, 255:u8");
  EXPECT_EQ(recorded([](Int64 x) { return x == -1; }), "%0: bool = eq @p0, -1:i64");
  EXPECT_EQ(recorded([](UInt64 x) { return x & 0xffffffffffffffffu; }), "%0: u64 = and @p0, 18446744073709551615:u64");
}

TEST(Traced, ALongIntegerLiteralIsRoundedToFloatOnce) {
  // Above half of the way from 2^53 to the next float; as a double it would be half of the way.
  constexpr std::int64_t literal = 9007199791611905;
  EXPECT_EQ(recorded([](Float x) { return x + literal; }), "%0: f32 = add @p0, 9007200000000000.0");
  ASSERT_EQ(static_cast<float>(literal), 9007200328482816.0f);
}

// The message for a literal combined with, or converted to, the type of `T`; `line` is that of the literal.
template <class T, class L>
std::string literal_message(L literal, unsigned &line) {
  return message_of<UserError>([&] {
    test::captured([&](Traced<T> x) {
      line = __LINE__ + 1;
      x + literal;
    });
  });
}

TEST(Traced, ALiteralThatDoesNotFitIsAnErrorThatNamesTheLine) {
  unsigned line = 0;
  std::string message = literal_message<std::uint8_t>(256, line);
  EXPECT_THAT(message, HasSubstr("traced_test.cpp:" + std::to_string(line) +
                                 ": the literal 256 does not fit into "
                                 "uint8_t; use a wider type"));
  EXPECT_THAT(literal_message<std::uint32_t>(-1, line), HasSubstr("the literal -1 does not fit into uint32_t"));
  EXPECT_THAT(literal_message<std::int32_t>(2147483648, line), HasSubstr("2147483648 does not fit into int32_t"));
  EXPECT_THAT(literal_message<std::int64_t>(18446744073709551615u, line),
              HasSubstr("18446744073709551615 does not fit into int64_t"));
  EXPECT_THAT(literal_message<std::uint64_t>(-1, line), HasSubstr("-1 does not fit into uint64_t"));
  EXPECT_THAT(message_of<UserError>([] { test::captured([] { return Int8(128); }); }), HasSubstr("128 does not fit"));
}

TEST(Traced, AFloatingLiteralOfAnotherRangeIsAnErrorThatNamesTheLine) {
  unsigned line = 0;
  const std::string message = literal_message<float>(1e300, line);
  EXPECT_THAT(message, HasSubstr("traced_test.cpp:" + std::to_string(line) +
                                 ": the literal 1e+300 does not fit into float, whose largest number is 3.40282"));
  EXPECT_THAT(message, HasSubstr("; use a wider type"));
  EXPECT_THAT(literal_message<float>(-1e60, line), HasSubstr("the literal -1e+60 does not fit into float"));
  EXPECT_THAT(literal_message<float>(1e-60, line),
              HasSubstr("the literal 1e-60 does not fit into float, whose least number above zero is 1.4"));
  EXPECT_THAT(literal_message<half>(70000, line), HasSubstr("the literal 70000 does not fit into half, whose largest "
                                                            "number is 65504"));
  EXPECT_THAT(literal_message<half>(1e-8, line), HasSubstr("1e-08 does not fit into half"));
  EXPECT_THAT(literal_message<bfloat16>(1e39, line), HasSubstr("1e+39 does not fit into bfloat16"));
  EXPECT_THAT(message_of<UserError>([] { test::captured([] { return F8E4M3(464); }); }),
              HasSubstr("464 does not fit into f8e4m3, whose largest number is 448"));
}

// A literal is rounded, also to a number that is not normal.
TEST(Traced, FloatingLiteralsAreRounded) {
  for (const double literal : {0.1, 3.4028235e38, 1e-40, 0.0, -0.0, HUGE_VAL, -HUGE_VAL, std::nan("")})
    EXPECT_NO_THROW(test::captured([&](Float x) { x + literal; })) << literal;
  for (const double literal : {65504.0, 65519.0, 6e-8, HUGE_VAL})
    EXPECT_NO_THROW(test::captured([&](Half x) { x + literal; })) << literal;
  EXPECT_NO_THROW(test::captured([](Double x) { x + 1e308; }));
  EXPECT_NO_THROW(test::captured([](Int i) { i + 1e300; })) << "promotes to Double";
  EXPECT_NO_THROW(test::captured([] { F8E4M3(463), F8E5M2(HUGE_VAL); }));
}

TEST(Traced, TheEndsOfARangeFit) {
  EXPECT_EQ(recorded([](Int8 x) { return x + 127 + -128; }), "%0: i8 = add @p0, 127:i8; %1: i8 = add %0, -128:i8");
  EXPECT_EQ(recorded([](Int64 x) { return x + INT64_MIN; }), "%0: i64 = add @p0, -9223372036854775808:i64");
}

using Types = std::tuple<Int8, Int16, Int, Int64, UInt8, UInt16, UInt, UInt64, Float, Double>;
constexpr std::size_t type_count = std::tuple_size_v<Types>;

// The common type of row and column; empty if there is none.
constexpr std::string_view meeting[type_count][type_count] = {
    {"i8", "i16", "i32", "i64", "", "", "", "", "f32", "f64"},
    {"i16", "i16", "i32", "i64", "i16", "", "", "", "f32", "f64"},
    {"i32", "i32", "i32", "i64", "i32", "i32", "", "", "f32", "f64"},
    {"i64", "i64", "i64", "i64", "i64", "i64", "i64", "", "", "f64"},
    {"", "i16", "i32", "i64", "u8", "u16", "u32", "u64", "f32", "f64"},
    {"", "", "i32", "i64", "u16", "u16", "u32", "u64", "f32", "f64"},
    {"", "", "", "i64", "u32", "u32", "u32", "u64", "f32", "f64"},
    {"", "", "", "", "u64", "u64", "u64", "u64", "", "f64"},
    {"f32", "f32", "f32", "", "f32", "f32", "f32", "", "f32", "f64"},
    {"f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64", "f64"},
};

// Calls `function.operator()<row, column>()` for each pair of Types.
template <class F>
void for_each_pair(F function) {
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (function.template operator()<I / type_count, I % type_count>(), ...);
  }(std::make_index_sequence<type_count * type_count>{});
}

template <std::size_t I>
using Type = std::tuple_element_t<I, Types>;

std::string type_name(std::size_t i) { return std::string(meeting[i][i]); }

// The lines that a test expects of one kernel for all pairs: a kernel for each would take long to compile.
class ExpectedLines {
 public:
  // Adds "%n: type = text" and returns "%n".
  std::string add(const std::string &type, const std::string &text) {
    std::string local = "%" + std::to_string(count_++);
    lines_ += (lines_.empty() ? "" : "; ") + local + ": " + type + " = " + text;
    return local;
  }
  // `operand` as that type, with a cast if its type is another one.
  std::string add_cast(const std::string &type, const std::string &from, const std::string &operand) {
    return type == from ? operand : add(type, "cast " + operand);
  }
  const std::string &all() const { return lines_; }

 private:
  std::string lines_;
  int count_ = 0;
};

// A function, so that it is compiled once.
void expect_each(const std::vector<bool> &allowed, bool expected, std::size_t from, std::size_t to) {
  EXPECT_THAT(allowed, testing::Each(expected)) << type_name(from) << " and " << type_name(to);
}

TEST(Promotion, TwoOperandsMeetInOneTypeOrDoNotCompile) {
  ExpectedLines expected;
  auto function = [&](Int8 a, Int16 b, Int c, Int64 d, UInt8 e, UInt16 f, UInt g, UInt64 h, Float i, Double j) {
    auto values = std::tie(a, b, c, d, e, f, g, h, i, j);
    for_each_pair([&]<std::size_t Row, std::size_t Column>() {
      const std::string type(meeting[Row][Column]);
      constexpr bool compiles = requires(Type<Row> x, Type<Column> y) { x + y; };
      expect_each({compiles}, !type.empty(), Row, Column);
      if constexpr (compiles) {
        auto expect = [&](const std::string &result, const std::string &operation) {
          std::string x = expected.add_cast(type, type_name(Row), "@p" + std::to_string(Row));
          std::string y = expected.add_cast(type, type_name(Column), "@p" + std::to_string(Column));
          expected.add(result, operation + " " + x + ", " + y);
        };
        auto &x = std::get<Row>(values);
        auto &y = std::get<Column>(values);
        (void)(x + y), expect(type, "add");
        (void)(x < y), expect("bool", "lt");
        max(x, y), expect(type, "max");
        select(true, x, y), expect(type, "select true,");
      }
    });
  };
  std::string actual = recorded(function);
  EXPECT_EQ(actual, expected.all());
}

// If the two have the wanted type in common, and only then.
TEST(Promotion, AValueBecomesAnotherTypeWithoutBeingAskedWhereItPromotes) {
  for_each_pair([]<std::size_t Row, std::size_t Column>() {
    using To = Type<Row>;
    using From = Type<Column>;
    const bool promotes = meeting[Row][Column] == meeting[Row][Row];
    const std::vector<bool> allowed = {std::is_convertible_v<From, To>, std::is_assignable_v<To &, From>,
                                       std::is_assignable_v<Element<typename To::value_type>, From>,
                                       std::is_convertible_v<Element<typename From::value_type>, To>,
                                       std::is_convertible_v<Element<const typename From::value_type>, To>};
    expect_each(allowed, promotes, Column, Row);
  });
}

TEST(Promotion, AnExplicitCastTakesAnyTypeToAnyType) {
  ExpectedLines expected;
  auto function = [&](Int8 a, Int16 b, Int c, Int64 d, UInt8 e, UInt16 f, UInt g, UInt64 h, Float i, Double j) {
    auto values = std::tie(a, b, c, d, e, f, g, h, i, j);
    for_each_pair([&]<std::size_t Row, std::size_t Column>() {
      using To = Type<Row>;
      const auto &from = std::get<Column>(values);
      for (int i : {0, 1}) {
        (void)(i == 0 ? To(from) : cast<To>(from));
        expected.add_cast(type_name(Row), type_name(Column), "@p" + std::to_string(Column));
      }
    });
  };
  std::string actual = recorded(function);
  EXPECT_EQ(actual, expected.all());
}

TEST(Promotion, AnExplicitCastTakesArrayElements) {
  const std::string expected = "%0: f64 = load @p0[0:i64]; %1: i32 = cast %0";
  EXPECT_EQ(recorded([](Array<double, 1> a) { return Int(a(0)); }), expected);
  EXPECT_EQ(recorded([](Array<const double, 1> a) { return Int(a(0)); }), expected);
  EXPECT_EQ(recorded([](Array<const double, 1> a) { return cast<Int>(a(0)); }), expected);
}

TEST(Promotion, BoolIsANumberOnlyWhereAsked) {
  EXPECT_FALSE((std::is_convertible_v<Bool, Int>));
  EXPECT_FALSE((std::is_convertible_v<Int, Bool>));
  EXPECT_FALSE((std::is_convertible_v<int, Bool>));
  EXPECT_FALSE((std::is_convertible_v<bool, Float>));
  EXPECT_EQ(recorded([](Bool p) { return Float(p); }), "%0: f32 = cast @p0");
  EXPECT_EQ(recorded([](Float x) { return cast<Bool>(x); }), "%0: bool = cast @p0");
}

// Programs that must not compile: the messages of the usual cases are in tests/compile_fail.
template <class A, class B>
concept Subtracts = requires(A a, B b) { a - b; };
template <class A, class B>
concept Shifts = requires(A a, B b) { a << b; };
template <class A, class B>
concept Ands = requires(A a, B b) { a & b; };
template <class A, class B>
concept Orders = requires(A a, B b) { a < b; };
template <class A, class B>
concept Equals = requires(A a, B b) { a == b; };
template <class A, class B>
concept AddsTo = requires(A a, B b) { a += b; };
template <class A, class B>
concept Reduces = requires(A a, B b) { a %= b; };
template <class A>
concept Negates = requires(A a) { -a; };
template <class A>
concept Complements = requires(A a) { ~a; };
template <class A>
concept Nots = requires(A a) { !a; };

TEST(Promotion, WhatHasNoMeaningDoesNotCompile) {
  EXPECT_FALSE((Subtracts<Bool, Bool>));
  EXPECT_FALSE((Subtracts<Bool, Int>));
  EXPECT_FALSE((Subtracts<Int64, float>));
  EXPECT_FALSE((Subtracts<float, UInt64>));
  EXPECT_FALSE((Subtracts<Float, bool>));
  EXPECT_FALSE((Subtracts<Float, std::string>));
  EXPECT_FALSE((Shifts<Float, Int>));
  EXPECT_FALSE((Ands<Double, Double>));
  EXPECT_FALSE((Ands<Bool, Int>));
  EXPECT_FALSE((Orders<Bool, Bool>));
  EXPECT_FALSE((Orders<Bool, Float>));
  EXPECT_FALSE((Equals<Bool, int>));
  EXPECT_FALSE((AddsTo<Bool, Bool>));
  EXPECT_FALSE((AddsTo<Float, Double>));
  EXPECT_FALSE((AddsTo<Int, float>));
  EXPECT_FALSE((AddsTo<Element<bool>, Bool>));
  EXPECT_FALSE((Reduces<Bool, Bool>));
  EXPECT_FALSE((Reduces<Float, Float>));
  EXPECT_FALSE(Negates<Bool>);
  EXPECT_FALSE(Complements<Bool>);
  EXPECT_FALSE(Complements<Float>);
  EXPECT_FALSE(Nots<Int>);
  EXPECT_FALSE((std::is_constructible_v<bool, Bool>));
}

enum Kind { air, wall };

TEST(Traced, AnEnumThatCppTakesForAnIntegerIsALiteral) {
  EXPECT_EQ(recorded([](Int i) {
              Bool walls = i == wall;
              Int kind = air;
              kind += wall;
            }),
            "%0: bool = eq @p0, 1; %1: i32 = add 0, 1");
}

TEST(Promotion, WhatDoesNotPromoteConvertsWhereItIsAskedForAlone) {
  EXPECT_FALSE((std::is_convertible_v<Float, Int>));
  EXPECT_FALSE((std::is_convertible_v<Element<double>, Float>));
  EXPECT_FALSE((std::is_convertible_v<double, Int>));
  EXPECT_TRUE((std::is_constructible_v<Int, Float>));
  EXPECT_TRUE((std::is_constructible_v<Float, Element<double>>));
  EXPECT_TRUE((std::is_convertible_v<Int, Double>));
}

}  // namespace
}  // namespace samite
