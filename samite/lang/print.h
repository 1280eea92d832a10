// Words from inside of a kernel: lines that it prints, and conditions that must hold.
//
//   print("i = ", i, ": ", x(i));                       // "i = 3: 0.25"
//   check(x(i) >= 0, "x must not be negative, is ", x(i));
//
// Parts are texts, traced values and array elements, which are read now, and C++ numbers. Floating values have as many
// digits as tell them from their neighbours. Vectors, quaternions and structs are written as (1, 2, 3), matrices as
// ((1, 2), (3, 4)).
//
// `print` writes one line for each instance that comes to it, never mixed with another. Instances that run in one
// vector come in the order of their indices; beyond that there is no order. Lines go to standard output, or where
// set_print_sink (jit/print_sink.h) says.
//
// Where the condition of a `check` is false, the launch goes on and then throws a UserError with the line, the index of
// the first such instance and the text. It does so in release mode as well; what the launch has written stays written,
// and further launches are as good as ever.
//
// On CUDA both are heard when the stream is waited for: by Stream::synchronize(), or by reading a buffer.
//
// An adjoint repeats neither: they belong to the forward run. A tangent launch is a forward run, and has both.
#pragma once

#include "samite/lang/struct_array.h"

#include <concepts>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace samite {
namespace lang {

// A part of a message, with the place where it was written. Made by implicit conversion only.
class MessagePart {
 public:
  using Piece = std::variant<std::string, ir::Value>;

  MessagePart(const char *text, SourceLocation where = std::source_location::current())
      : where_(where), pieces_{Piece(std::string(text))} {}
  MessagePart(const std::string &text, SourceLocation where = std::source_location::current())
      : where_(where), pieces_{Piece(text)} {}
  MessagePart(std::string_view text, SourceLocation where = std::source_location::current())
      : where_(where), pieces_{Piece(std::string(text))} {}
  template <class A>
    requires std::is_arithmetic_v<A>
  MessagePart(A number, SourceLocation where = std::source_location::current())
      : where_(where), pieces_{Piece(number_text(number))} {}
  template <class T>
  MessagePart(const Traced<T> &value, SourceLocation where = std::source_location::current())
      : where_(where), pieces_{Piece(value.value(where_))} {}
  template <class T>
  MessagePart(const Element<T> &element, SourceLocation where = std::source_location::current())
      : where_(where), pieces_{Piece(element.load())} {}
  // A vector, matrix, quaternion, transform or struct of traced values, or an element of an array of them.
  template <StructValue V>
  MessagePart(const V &value, SourceLocation where = std::source_location::current()) : where_(where) {
    append(value);
  }
  template <class S>
  MessagePart(const StructElement<S> &element, SourceLocation where = std::source_location::current())
      : MessagePart(element.load(where), where) {}

  SourceLocation where() const { return where_; }
  const std::vector<Piece> &pieces() const { return pieces_; }

 private:
  template <class V>
  void append(const V &value) {
    if constexpr (TracedValue<V>) {
      pieces_.emplace_back(value.value(where_));
    } else if constexpr (MatrixValue<V>) {
      enclose([&](const auto &each) {
        for (int i = 0; i < V::rows(); ++i) each(value.row(i, where_));
      });
    } else if constexpr (requires { value.begin(); }) {
      enclose([&](const auto &each) {
        for (const auto &part : value) each(part);
      });
    } else if constexpr (std::is_aggregate_v<V>) {
      enclose([&](const auto &each) { std::apply([&](const auto &...parts) { (each(parts), ...); }, fields(value)); });
    } else {
      enclose([&](const auto &each) { each(value.translation), each(value.rotation); });
    }
  }
  // In brackets and separated by commas, what `parts` gives one after another.
  template <class F>
  void enclose(const F &parts) {
    const char *before = "(";
    parts([&](const auto &part) {
      pieces_.emplace_back(std::string(std::exchange(before, ", ")));
      append(part);
    });
    pieces_.emplace_back(std::string(")"));
  }

  template <class A>
  static std::string number_text(A number) {
    if constexpr (std::same_as<A, bool>) return number ? "true" : "false";
    if constexpr (std::same_as<A, char>) return std::string(1, number);
    if constexpr (std::floating_point<A>) return floating_text(static_cast<double>(number), std::same_as<A, float>);
    return std::to_string(number);
  }
  static std::string floating_text(double number, bool single);

  SourceLocation where_;
  std::vector<Piece> pieces_;
};

// The condition of a check. Traced alone: a C++ bool is for an `if` of the capture.
class CheckedCondition {
 public:
  CheckedCondition(const Traced<bool> &value, SourceLocation where = std::source_location::current())
      : where_(where), value_(value.value(where_)) {}
  CheckedCondition(const Element<bool> &element, SourceLocation where = std::source_location::current())
      : where_(where), value_(element.load()) {}
  CheckedCondition(const Element<const bool> &element, SourceLocation where = std::source_location::current())
      : where_(where), value_(element.load()) {}

  SourceLocation where() const { return where_; }
  ir::Value value() const { return value_; }

 private:
  SourceLocation where_;
  ir::Value value_;
};

void record_print(const std::vector<MessagePart> &parts, SourceLocation where);
void record_check(ir::Value condition, const std::vector<MessagePart> &parts, SourceLocation where);

}  // namespace lang

template <class... Parts>
void print(const lang::MessagePart &first, const Parts &...rest) {
  lang::record_print({first, lang::MessagePart(rest, first.where())...}, first.where());
}

template <class... Parts>
void check(const lang::CheckedCondition &condition, const Parts &...parts) {
  lang::record_check(condition.value(), {lang::MessagePart(parts, condition.where())...}, condition.where());
}

}  // namespace samite
