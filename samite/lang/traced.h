// Traced values: the scalars in a kernel's function.
//
//   Float x = 2.0f;  x = x * x + 1;  Bool inside = x < limit;
//
// A traced value is used like the C++ type it stands for. Operations are not computed but recorded, with the file and
// line of the user's expression. Copies are independent: assigning to one does not change the other.
//
// Promotion is stricter than C++'s and never loses range silently: the common type of two operands is the one to which
// the other promotes (lang/promotion.h). If neither type promotes, compilation fails: add a cast.
//
// A C++ literal takes the type of the other, traced operand (`x * 2`, `x * 0.5` with a Float x are Float), and Bool
// only bool. An integer next to a floating literal promotes to the literal's type, as in C++: with an Int i `i * 0.5`
// is a Double, `i * 0.5f` a Float. Explicit casts: `cast<Float>(d)`, or `Float(d)`.
//
// A traced value has no truth value while the kernel is captured: `if (x < y)` does not compile; write
// `if_(x < y, [&] { … })` or `select(x < y, a, b)`. `&&`, `||` evaluate both sides.
#pragma once

#include "samite/base/language_standard.h"

#include "samite/base/source_location.h"
#include "samite/ir/op.h"
#include "samite/ir/value.h"
#include "samite/lang/promotion.h"

#include <concepts>
#include <initializer_list>
#include <utility>

namespace samite {

template <Scalar T>
class Traced;
template <class T>
class Element;
template <Scalar T>
class Operand;
class Var;

using Bool = Traced<bool>;
using Int8 = Traced<std::int8_t>;
using Int16 = Traced<std::int16_t>;
using Int = Traced<std::int32_t>;
using Int64 = Traced<std::int64_t>;
using UInt8 = Traced<std::uint8_t>;
using UInt16 = Traced<std::uint16_t>;
using UInt = Traced<std::uint32_t>;
using UInt64 = Traced<std::uint64_t>;
using F8E4M3 = Traced<f8e4m3>;
using F8E5M2 = Traced<f8e5m2>;
using Half = Traced<half>;
using BFloat16 = Traced<bfloat16>;
using Float = Traced<float>;
using Double = Traced<double>;

namespace lang {
// An enum that C++ converts to an integer.
template <class A>
concept UnscopedEnum = std::is_enum_v<A> && std::is_convertible_v<A, int>;
template <class A>
concept ScopedEnum = std::is_enum_v<A> && !std::is_convertible_v<A, int>;
}  // namespace lang

// C++ values that convert to a Traced<T>.
template <class A, class T>
concept LiteralFor = (std::same_as<T, bool> && std::same_as<A, bool>) ||
                     (!std::same_as<T, bool> && std::integral<T> && std::integral<A> && !std::same_as<A, bool>) ||
                     (!std::same_as<T, bool> && std::integral<T> && lang::UnscopedEnum<A>) ||
                     (FloatingScalar<T> && (std::is_arithmetic_v<A> || FloatingScalar<A>) && !std::same_as<A, bool>);

namespace lang {

template <class A>
struct ValueType {
  using type = void;  // a literal takes the other operand's type
};
template <Scalar T>
struct ValueType<Traced<T>> {
  using type = T;
};
template <class T>
struct ValueType<Element<T>> {
  using type = std::remove_const_t<T>;
};
template <>
struct ValueType<Var> {
  using type = std::int32_t;
};
template <class A>
using value_type_of = typename ValueType<std::remove_cvref_t<A>>::type;

// The common type of two operands by the promotion table; void if there is none.
template <class A, class B>
using common_type_of = std::conditional_t<
    std::same_as<A, B> || std::is_void_v<B>, A,
    std::conditional_t<std::is_void_v<A> || PromotesTo<A, B>, B, std::conditional_t<PromotesTo<B, A>, A, void>>>;

template <class A>
concept TracedValue = !std::is_void_v<value_type_of<A>>;

// A traced value or a C++ number: the operands of operators and functions of numbers.
template <class A>
concept Number = TracedValue<A> || Scalar<A> || std::is_arithmetic_v<A>;

template <class Literal, class T>
using type_beside_literal = std::conditional_t<
    LiteralFor<Literal, T>, T,
    std::conditional_t<std::integral<T> && std::floating_point<Literal> && PromotesTo<T, Literal>, Literal, void>>;
template <class A, class B>
struct Meeting {
  using type = common_type_of<value_type_of<A>, value_type_of<B>>;
};
template <class A, TracedValue B>
  requires(!TracedValue<A>)
struct Meeting<A, B> {
  using type = type_beside_literal<A, value_type_of<B>>;
};
template <TracedValue A, class B>
  requires(!TracedValue<B>)
struct Meeting<A, B> {
  using type = type_beside_literal<B, value_type_of<A>>;
};
// The common type of two numbers, at least one of them traced: by the promotion table, or as a literal next to a traced
// value. void if there is none.
template <class A, class B>
using meeting_type = typename Meeting<std::remove_cvref_t<A>, std::remove_cvref_t<B>>::type;

template <class A, class B>
concept TwoNumbers = Number<A> && Number<B> && (TracedValue<A> || TracedValue<B>);
// Two numbers without an operator: one or both must be cast first.
template <class A, class B>
concept ApartAsNumbers = TwoNumbers<A, B> && !ArithmeticScalar<meeting_type<A, B>>;
template <class A, class B>
concept ApartAsIntegers =
    TwoNumbers<A, B> && !(std::integral<meeting_type<A, B>> && ArithmeticScalar<meeting_type<A, B>>);
template <class A, class B>
concept ApartAsBits = TwoNumbers<A, B> && !std::integral<meeting_type<A, B>>;
template <class A, class B>
concept ApartAsValues = TwoNumbers<A, B> && std::is_void_v<meeting_type<A, B>>;

template <class A, class B>
concept ApartAsTruth = TwoNumbers<A, B> && !std::same_as<meeting_type<A, B>, bool>;

// Results of refused operators, so that the message says what to do: `a + b` of Int and UInt must say cast<Int>(b).
struct cast_one_operand;
struct cast_the_argument;
struct cast_what_is_assigned;

// Appends one operation to the running capture.
ir::Value record(ir::Op op, ScalarType type, std::initializer_list<ir::Value> operands, SourceLocation where);
ir::Value record_cast(ScalarType type, ir::Value value, SourceLocation where);
// The value of a variable (lang/variable.h), as `type`.
ir::Value record_variable(ScalarType type, const Var &variable, SourceLocation where);

// The local of the running capture that a C++ object stands for.
//
// A move passes the local on. A moved-from object may be assigned to, as std::swap does. In the block in which it was
// moved from, it gets a new local. Elsewhere, for example in a loop, it must be the same variable again in the next
// iteration: it takes the local back, and the value that was passed on moves to a new local, in all that was captured
// since the move.
class LocalHandle {
 public:
  explicit LocalHandle(ir::LocalId local);
  LocalHandle(LocalHandle &&from) noexcept;
  LocalHandle &operator=(LocalHandle &&) = delete;
  ~LocalHandle();

  // UserError if the local belongs to another capture, is out of scope, or was moved from.
  ir::Value value(const ir::Type &type, SourceLocation where) const;
  void assign(const ir::Type &type, ir::Value value, SourceLocation where);

 private:
  void check_capture(const ir::Type &type, SourceLocation where) const;

  std::uint32_t serial_;
  ir::LocalId local_;
  std::uint32_t moved_in_ = 0;  // the block
};

// The line at which the running capture last recorded something. An assignment operator cannot ask for its caller's
// line; the assigned value was recorded on that line or just before.
SourceLocation latest_location();
// A literal as a constant of `type`. UserError if an integer does not fit, or if a floating literal overflows or
// becomes zero; otherwise it is rounded. `rounded` is `value` in the type.
ir::Value literal(ScalarType type, double rounded, double value, SourceLocation where);
ir::Value literal(ScalarType type, std::int64_t value, bool negative, SourceLocation where);

template <class T, class A>
ir::Value literal_for(A value, SourceLocation where) {
  if constexpr (std::is_enum_v<A>)
    return literal_for<T>(static_cast<std::underlying_type_t<A>>(value), where);
  else if constexpr (std::same_as<T, bool>)
    return ir::Value::boolean(value);
  // To T first: through double, a long integer would be rounded twice.
  else if constexpr (FloatingScalar<T>)
    return literal(scalar_type_of<T>, static_cast<double>(static_cast<T>(value)), static_cast<double>(value), where);
  else
    return literal(scalar_type_of<T>, static_cast<std::int64_t>(value), value < A{0}, where);
}

}  // namespace lang

// One operand of an operation on Traced<T>, with its source line. Made by implicit conversion only.
template <Scalar T>
class Operand {
 public:
  Operand(const Traced<T> &value, SourceLocation where = std::source_location::current())
      : where_(where), value_(value.value(where_)) {}
  Operand(const Element<T> &element, SourceLocation where = std::source_location::current())
      : where_(where), value_(element.load()) {}
  Operand(const Element<const T> &element, SourceLocation where = std::source_location::current())
      : where_(where), value_(element.load()) {}

  template <class From>
    requires PromotesTo<From, T>
  Operand(const Traced<From> &value, SourceLocation where = std::source_location::current())
      : where_(where), value_(lang::record_cast(scalar_type_of<T>, value.value(where_), where_)) {}
  template <class From>
    requires PromotesTo<std::remove_const_t<From>, T>
  Operand(const Element<From> &element, SourceLocation where = std::source_location::current())
      : where_(where), value_(lang::record_cast(scalar_type_of<T>, element.load(), where_)) {}

  Operand(const Var &variable, SourceLocation where = std::source_location::current())
    requires(std::same_as<T, std::int32_t> || PromotesTo<std::int32_t, T>)
      : where_(where), value_(lang::record_variable(scalar_type_of<T>, variable, where_)) {}

  template <LiteralFor<T> A>
  Operand(A literal, SourceLocation where = std::source_location::current())
      : where_(where), value_(lang::literal_for<T>(literal, where_)) {}

  SourceLocation where() const { return where_; }
  ir::Value value() const { return value_; }

 private:
  SourceLocation where_;
  ir::Value value_;
};

namespace lang {

// A number that is no T without a cast. Decided by the types only, since convertibility is a question about Traced<T>
// itself.
template <class A, class T>
concept NumberToBeCast = (TracedValue<A> && !std::same_as<value_type_of<A>, T> && !PromotesTo<value_type_of<A>, T>) ||
                         (!TracedValue<A> && Number<A> && !LiteralFor<A, T>);

// Traced<bool>, as a name that depends on T, because Traced is incomplete at this point. Compilers print this name in
// the error for a native `if`.
template <class T>
struct Condition {
  using type = Traced<std::conditional_t<sizeof(T) != 0, bool, T>>;
};
template <class T>
using write_if_or_select = typename Condition<T>::type;

// An integer next to a floating literal: a base class only of integers, since each such base costs compile time in
// every type that has it.
template <class T>
struct OperatorsBesideLiterals {};
template <std::integral T>
  requires ArithmeticScalar<T>
struct OperatorsBesideLiterals<T> {
#define SAMITE_BESIDE_LITERAL(symbol, op, result)                                                                     \
  template <std::floating_point F>                                                                                    \
    requires PromotesTo<T, F>                                                                                         \
  friend result operator symbol(const Operand<T> &a, F b) {                                                           \
    return result::adopt(record(ir::Op::op, scalar_type_of<typename result::value_type>,                              \
                                {record_cast(scalar_type_of<F>, a.value(), a.where()), literal_for<F>(b, a.where())}, \
                                a.where()));                                                                          \
  }                                                                                                                   \
  template <std::floating_point F>                                                                                    \
    requires PromotesTo<T, F>                                                                                         \
  friend result operator symbol(F a, const Operand<T> &b) {                                                           \
    return result::adopt(record(ir::Op::op, scalar_type_of<typename result::value_type>,                              \
                                {literal_for<F>(a, b.where()), record_cast(scalar_type_of<F>, b.value(), b.where())}, \
                                b.where()));                                                                          \
  }
  SAMITE_BESIDE_LITERAL(+, Add, Traced<F>)
  SAMITE_BESIDE_LITERAL(-, Sub, Traced<F>)
  SAMITE_BESIDE_LITERAL(*, Mul, Traced<F>)
  SAMITE_BESIDE_LITERAL(/, Div, Traced<F>)
  SAMITE_BESIDE_LITERAL(==, Equal, write_if_or_select<T>)
  SAMITE_BESIDE_LITERAL(!=, NotEqual, write_if_or_select<T>)
  SAMITE_BESIDE_LITERAL(<, Less, write_if_or_select<T>)
  SAMITE_BESIDE_LITERAL(<=, LessEqual, write_if_or_select<T>)
  SAMITE_BESIDE_LITERAL(>, Greater, write_if_or_select<T>)
  SAMITE_BESIDE_LITERAL(>=, GreaterEqual, write_if_or_select<T>)
#undef SAMITE_BESIDE_LITERAL
};

// The operators of Traced<T> and Element<T>, found by argument-dependent look-up through this base. They take
// `Operand`s, not templates, so that literals and promoted operands convert at the user's own line.
template <Scalar T>
struct Operators : OperatorsBesideLiterals<T> {
#define SAMITE_BINARY(symbol, op, result, condition)                                                         \
  friend result operator symbol(const Operand<T> &a, const Operand<T> &b)                                    \
    requires(condition)                                                                                      \
  {                                                                                                          \
    return result::adopt(                                                                                    \
        record(ir::Op::op, scalar_type_of<typename result::value_type>, {a.value(), b.value()}, a.where())); \
  }
  SAMITE_BINARY(+, Add, Traced<T>, (ArithmeticScalar<T>))
  SAMITE_BINARY(-, Sub, Traced<T>, (ArithmeticScalar<T>))
  SAMITE_BINARY(*, Mul, Traced<T>, (ArithmeticScalar<T>))
  SAMITE_BINARY(/, Div, Traced<T>, (ArithmeticScalar<T>))
  SAMITE_BINARY(%, Rem, Traced<T>, (std::integral<T> && ArithmeticScalar<T>))
  SAMITE_BINARY(&, And, Traced<T>, (std::integral<T>))
  SAMITE_BINARY(|, Or, Traced<T>, (std::integral<T>))
  SAMITE_BINARY(^, Xor, Traced<T>, (std::integral<T>))
  SAMITE_BINARY(<<, ShiftLeft, Traced<T>, (std::integral<T> && ArithmeticScalar<T>))
  SAMITE_BINARY(>>, ShiftRight, Traced<T>, (std::integral<T> && ArithmeticScalar<T>))
  SAMITE_BINARY(==, Equal, write_if_or_select<T>, true)
  SAMITE_BINARY(!=, NotEqual, write_if_or_select<T>, true)
  SAMITE_BINARY(<, Less, write_if_or_select<T>, (ArithmeticScalar<T>))
  SAMITE_BINARY(<=, LessEqual, write_if_or_select<T>, (ArithmeticScalar<T>))
  SAMITE_BINARY(>, Greater, write_if_or_select<T>, (ArithmeticScalar<T>))
  SAMITE_BINARY(>=, GreaterEqual, write_if_or_select<T>, (ArithmeticScalar<T>))
  SAMITE_BINARY(&&, And, write_if_or_select<T>, (std::same_as<T, bool>))
  SAMITE_BINARY(||, Or, write_if_or_select<T>, (std::same_as<T, bool>))
#undef SAMITE_BINARY

  friend Traced<T> operator-(const Operand<T> &a)
    requires(ArithmeticScalar<T>)
  {
    return Traced<T>::adopt(record(ir::Op::Neg, scalar_type_of<T>, {a.value()}, a.where()));
  }
  friend Traced<T> operator~(const Operand<T> &a)
    requires(std::integral<T> && ArithmeticScalar<T>)
  {
    return Traced<T>::adopt(record(ir::Op::Not, scalar_type_of<T>, {a.value()}, a.where()));
  }
  friend write_if_or_select<T> operator!(const Operand<T> &a)
    requires(std::same_as<T, bool>)
  {
    return write_if_or_select<T>::adopt(record(ir::Op::Not, ScalarType::Bool, {a.value()}, a.where()));
  }
};

}  // namespace lang

// Operators that have no meaning without a cast are refused, with a message of one line.
#define SAMITE_REFUSED(symbol, apart) \
  template <class A, class B>         \
    requires lang::apart<A, B>        \
  lang::cast_one_operand operator symbol(const A &, const B &) = delete;
SAMITE_REFUSED(+, ApartAsNumbers)    // types that do not meet, or have no arithmetic: cast<Int>(x), cast<Float>(x), …
SAMITE_REFUSED(-, ApartAsNumbers)    // types that do not meet, or have no arithmetic: cast<Int>(x), cast<Float>(x), …
SAMITE_REFUSED(*, ApartAsNumbers)    // types that do not meet, or have no arithmetic: cast<Int>(x), cast<Float>(x), …
SAMITE_REFUSED(/, ApartAsNumbers)    // types that do not meet, or have no arithmetic: cast<Int>(x), cast<Float>(x), …
SAMITE_REFUSED(%, ApartAsIntegers)   // of integers whose types meet: cast<Int>(x); fmod(x, y) is of floating numbers
SAMITE_REFUSED(&, ApartAsBits)       // of integers or Bool, in types that meet: cast<Int>(x)
SAMITE_REFUSED(|, ApartAsBits)       // of integers or Bool, in types that meet: cast<Int>(x)
SAMITE_REFUSED(^, ApartAsBits)       // of integers or Bool, in types that meet: cast<Int>(x)
SAMITE_REFUSED(<<, ApartAsIntegers)  // of integers whose types meet: cast<Int>(x)
SAMITE_REFUSED(>>, ApartAsIntegers)  // of integers whose types meet: cast<Int>(x)
SAMITE_REFUSED(==, ApartAsValues)    // types that do not meet: cast<Int>(x), cast<Float>(x), …
SAMITE_REFUSED(!=, ApartAsValues)    // types that do not meet: cast<Int>(x), cast<Float>(x), …
SAMITE_REFUSED(<, ApartAsNumbers)    // types that do not meet, or have no order: cast<Int>(x), cast<Float>(x), …
SAMITE_REFUSED(<=, ApartAsNumbers)   // types that do not meet, or have no order: cast<Int>(x), cast<Float>(x), …
SAMITE_REFUSED(>, ApartAsNumbers)    // types that do not meet, or have no order: cast<Int>(x), cast<Float>(x), …
SAMITE_REFUSED(>=, ApartAsNumbers)   // types that do not meet, or have no order: cast<Int>(x), cast<Float>(x), …
SAMITE_REFUSED(&&, ApartAsTruth)     // of Bool: write x != 0
SAMITE_REFUSED(||, ApartAsTruth)     // of Bool: write x != 0
#undef SAMITE_REFUSED

// Not deleted: for deleted operators, compilers list all other candidates.
namespace lang {
template <class E>
void refuse_enum() {
  static_assert(!ScopedEnum<E>, "an enum class is no integer, as in C++: write static_cast<int>(e)");
}
}  // namespace lang
#define SAMITE_REFUSED(symbol)                                        \
  template <lang::TracedValue A, lang::ScopedEnum B>                  \
  auto operator symbol(const A &a, const B &)->decltype(a symbol a) { \
    return lang::refuse_enum<B>(), a symbol a;                        \
  }
SAMITE_REFUSED(==)
SAMITE_REFUSED(!=)
SAMITE_REFUSED(<)
SAMITE_REFUSED(<=)
SAMITE_REFUSED(>)
SAMITE_REFUSED(>=)
#undef SAMITE_REFUSED

template <Scalar T>
class Traced : public lang::Operators<T> {
 public:
  using value_type = T;

  Traced(SourceLocation where = std::source_location::current()) : Traced(T{}, where) {}

  template <LiteralFor<T> A>
  Traced(A literal, SourceLocation where = std::source_location::current())
      : Traced(copy(lang::literal_for<T>(literal, where), where)) {}

  Traced(const Traced &other, SourceLocation where = std::source_location::current())
      : Traced(copy(other.value(where), where)) {}
  Traced(Traced &&other) noexcept : local_(std::move(other.local_)) {}

  Traced(const Element<T> &element) : Traced(adopt(element.load())) {}
  Traced(const Element<const T> &element) : Traced(adopt(element.load())) {}

  template <class From>
    requires PromotesTo<From, T>
  Traced(const Traced<From> &other, SourceLocation where = std::source_location::current())
      : Traced(adopt(lang::record_cast(scalar_type_of<T>, other.value(where), where))) {}
  template <class From>
    requires PromotesTo<std::remove_const_t<From>, T>
  Traced(const Element<From> &element, SourceLocation where = std::source_location::current())
      : Traced(adopt(lang::record_cast(scalar_type_of<T>, element.load(), where))) {}

  Traced(const Var &variable, SourceLocation where = std::source_location::current())
    requires(std::same_as<T, std::int32_t> || PromotesTo<std::int32_t, T>)
      : Traced(copy(lang::record_variable(scalar_type_of<T>, variable, where), where)) {}

  // Refused: C++ would silently lose digits or the sign.
  template <class A>
    requires lang::NumberToBeCast<A, T>
  Traced(const A &, lang::cast_what_is_assigned * = nullptr) = delete;  // it does not promote: Int i = cast<Int>(x), …

  // Conversions that do not promote must be explicit.
  template <class From>
    requires(!PromotesTo<From, T> && !std::same_as<From, T>)
  explicit Traced(const Traced<From> &other, SourceLocation where = std::source_location::current())
      : Traced(adopt(lang::record_cast(scalar_type_of<T>, other.value(where), where))) {}
  template <class From>
    requires(!PromotesTo<std::remove_const_t<From>, T> && !std::same_as<std::remove_const_t<From>, T>)
  explicit Traced(const Element<From> &element, SourceLocation where = std::source_location::current())
      : Traced(adopt(lang::record_cast(scalar_type_of<T>, element.load(), where))) {}

  // Written out, so that it is not trivial: otherwise compilers warn about a loop index that is never read.
  ~Traced() {}  // NOLINT(modernize-use-equals-default)

  // Assignment writes to this local, wherever it was declared, also inside a loop or branch. A moved-from value may be
  // assigned to itself, as std::swap of a value with itself does.
  Traced &operator=(const Traced &other) {
    return this == &other ? *this : assign(Operand<T>(other, lang::latest_location()));
  }
  Traced &operator=(Traced &&other) { return *this = std::as_const(other); }
  template <class A>
    requires std::convertible_to<const A &, Operand<T>>
  Traced &operator=(const A &value) {
    return assign(Operand<T>(value, lang::latest_location()));
  }

  // Refused: C++ would silently lose digits or the sign.
  template <lang::Number A>
    requires(!std::convertible_to<const A &, Operand<T>>)
  lang::cast_what_is_assigned operator=(const A &) = delete;  // it does not promote: cast<Int>(x), cast<Float>(x), …
#define SAMITE_REFUSED(symbol, meaning)                                 \
  template <lang::Number A>                                             \
    requires(!(meaning) || !std::convertible_to<const A &, Operand<T>>) \
  lang::cast_what_is_assigned operator symbol(const A &) = delete;
  SAMITE_REFUSED(+=, ArithmeticScalar<T>)                     // for i += x: i = cast<Int>(i + x), i += cast<Int>(x)
  SAMITE_REFUSED(-=, ArithmeticScalar<T>)                     // for i -= x: i = cast<Int>(i - x), i -= cast<Int>(x)
  SAMITE_REFUSED(*=, ArithmeticScalar<T>)                     // for i *= x: i = cast<Int>(i * x), i *= cast<Int>(x)
  SAMITE_REFUSED(/=, ArithmeticScalar<T>)                     // for i /= x: i = cast<Int>(i / x), i /= cast<Int>(x)
  SAMITE_REFUSED(%=, std::integral<T> &&ArithmeticScalar<T>)  // of integers: i %= cast<Int>(x)
#undef SAMITE_REFUSED

  // As in C++: `i++` returns the previous value.
  Traced &operator++()
    requires(ArithmeticScalar<T>)
  {
    return update(ir::Op::Add, Operand<T>(1, lang::latest_location()));
  }
  Traced &operator--()
    requires(ArithmeticScalar<T>)
  {
    return update(ir::Op::Sub, Operand<T>(1, lang::latest_location()));
  }
  Traced operator++(int)
    requires(ArithmeticScalar<T>)
  {
    Traced before(*this, lang::latest_location());
    ++*this;
    return before;
  }
  Traced operator--(int)
    requires(ArithmeticScalar<T>)
  {
    Traced before(*this, lang::latest_location());
    --*this;
    return before;
  }

  Traced &operator+=(const Operand<T> &b)
    requires(ArithmeticScalar<T>)
  {
    return update(ir::Op::Add, b);
  }
  Traced &operator-=(const Operand<T> &b)
    requires(ArithmeticScalar<T>)
  {
    return update(ir::Op::Sub, b);
  }
  Traced &operator*=(const Operand<T> &b)
    requires(ArithmeticScalar<T>)
  {
    return update(ir::Op::Mul, b);
  }
  Traced &operator/=(const Operand<T> &b)
    requires(ArithmeticScalar<T>)
  {
    return update(ir::Op::Div, b);
  }
  Traced &operator%=(const Operand<T> &b)
    requires(std::integral<T> && ArithmeticScalar<T>)
  {
    return update(ir::Op::Rem, b);
  }
  Traced &operator&=(const Operand<T> &b)
    requires std::integral<T>
  {
    return update(ir::Op::And, b);
  }
  Traced &operator|=(const Operand<T> &b)
    requires std::integral<T>
  {
    return update(ir::Op::Or, b);
  }
  Traced &operator^=(const Operand<T> &b)
    requires std::integral<T>
  {
    return update(ir::Op::Xor, b);
  }

  // Exchanges the values at this point of the program, also inside a branch or loop.
  friend void swap(Traced &a, Traced &b) {  // NOLINT(performance-noexcept-swap): capturing allocates
    Traced kept = a;
    a = b;
    b = kept;
  }

  // For the library: the local as an operand, and a traced value that owns a fresh local.
  ir::Value value(SourceLocation where) const { return local_.value(scalar_type_of<T>, where); }
  lang::LocalHandle &local() { return local_; }
  static Traced adopt(ir::Value value) { return Traced(value, Adopt{}); }
  static Traced copy(ir::Value value, SourceLocation where) {
    return adopt(lang::record(ir::Op::Copy, scalar_type_of<T>, {value}, where));
  }

 private:
  struct Adopt {};
  Traced(ir::Value value, Adopt) : local_(value.id()) {}

  Traced &assign(const Operand<T> &operand) {
    local_.assign(scalar_type_of<T>, operand.value(), operand.where());
    return *this;
  }
  Traced &update(ir::Op op, const Operand<T> &b) {
    local_.assign(scalar_type_of<T>, lang::record(op, scalar_type_of<T>, {value(b.where()), b.value()}, b.where()),
                  b.where());
    return *this;
  }

  lang::LocalHandle local_;
};

}  // namespace samite
