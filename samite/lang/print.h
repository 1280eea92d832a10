// Messages from a kernel: lines that it prints, and conditions that must hold.
//
//   print("i = ", i, ": ", x(i));                       // "i = 3: 0.25"
//   check(x(i) >= 0, "x must not be negative, is ", x(i));
//
// Parts are texts, C++ numbers, and traced values and array elements with their present values. Floating values have
// enough digits to identify them. Vectors, quaternions and structs are written as (1, 2, 3), matrices as ((1, 2), (3,
// 4)).
//
// `print` writes one line for each instance that reaches it; lines are never mixed. Instances that run in one vector
// print in the order of their indices; otherwise the order is unspecified. Lines go to standard output, or to the sink
// of set_print_sink (jit/print_sink.h).
//
// If the condition of a `check` is false, the launch continues and then throws a UserError with the line, the index of
// the first such instance and the text, in release mode as well. Data that the launch has written stays written, and
// further launches are not affected.
//
// On CUDA both are reported by calls that wait for the stream: Stream::synchronize(), or reading a buffer.
//
// `print` and `check` run in forward and tangent launches only, not in adjoints.
#pragma once

#include "samite/lang/struct_array.h"

#include <array>
#include <concepts>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace samite {
namespace lang {

// A part of a message, with its source line. Made by implicit conversion only.
class MessagePart {
 public:
  using Piece = std::variant<std::string, ir::Value>;

  MessagePart(const char *text, SourceLocation where = std::source_location::current()) : where_(where) {
    add(std::string(text));
  }
  MessagePart(const std::string &text, SourceLocation where = std::source_location::current()) : where_(where) {
    add(text);
  }
  MessagePart(std::string_view text, SourceLocation where = std::source_location::current()) : where_(where) {
    add(std::string(text));
  }
  template <class A>
    requires std::is_arithmetic_v<A>
  MessagePart(A number, SourceLocation where = std::source_location::current()) : where_(where) {
    add(number_text(number));
  }
  template <class T>
  MessagePart(const Traced<T> &value, SourceLocation where = std::source_location::current()) : where_(where) {
    add(value.value(where_));
  }
  template <class T>
  MessagePart(const Element<T> &element, SourceLocation where = std::source_location::current()) : where_(where) {
    add(element.load());
  }
  // A vector, matrix, quaternion, transform or struct of traced values, or an element of an array of them.
  template <StructValue V>
  MessagePart(const V &value, SourceLocation where = std::source_location::current()) : where_(where) {
    append(value);
  }
  template <class S>
  MessagePart(const StructElement<S> &element, SourceLocation where = std::source_location::current())
      : MessagePart(element.load(where), where) {}

  // For the library.
  MessagePart(const ir::Value &number, SourceLocation where) : where_(where), pieces_{Piece(number)} {}

  SourceLocation where() const { return where_; }
  const std::vector<Piece> &pieces() const { return pieces_; }

  // Defined out of line, like the following, because every program compiles this header.
  MessagePart(const MessagePart &other);
  MessagePart &operator=(const MessagePart &other);
  ~MessagePart();

 private:
  void add(std::string text);
  void add(ir::Value value);
  template <class V>
  void append(const V &value) {
    if constexpr (TracedValue<V>) {
      add(value.value(where_));
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
  // Writes what `parts` passes one after another, in brackets and separated by commas.
  template <class F>
  void enclose(const F &parts) {
    const char *before = "(";
    parts([&](const auto &part) {
      add(std::string(std::exchange(before, ", ")));
      append(part);
    });
    add(std::string(")"));
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

// The condition of a check. Only traced conditions: test a C++ bool with `if` during the capture.
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

void record_print(std::span<const MessagePart> parts, SourceLocation where);
void record_check(ir::Value condition, std::span<const MessagePart> parts, SourceLocation where);

}  // namespace lang

template <class... Parts>
void print(const lang::MessagePart &first, const Parts &...rest) {
  const lang::MessagePart parts[] = {first, lang::MessagePart(rest, first.where())...};
  lang::record_print(parts, first.where());
}

template <class... Parts>
void check(const lang::CheckedCondition &condition, const Parts &...parts) {
  const std::array<lang::MessagePart, sizeof...(Parts)> all = {lang::MessagePart(parts, condition.where())...};
  lang::record_check(condition.value(), all, condition.where());
}

}  // namespace samite
