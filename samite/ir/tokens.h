// The words of a printed kernel. Internal to the printer and the parser.
#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <vector>

namespace samite::ir {

enum class TokenKind : std::uint8_t {
  Word,         // a keyword, the name of a type or of an operation, or inf, -inf, nan, true, false
  Local,        // %12: the text is "12"
  LocalArray,   // $3: the text is "3"
  Name,         // @x or @"any text": the text is without @ and quotes
  Integer,      // -12, or 0x1f
  Floating,     // -1.5e+20
  String,       // the text between the quotes, unescaped
  Punctuation,  // ( ) [ ] { } < > , : = | . .. -> +=
  End,
};

struct Token {
  TokenKind kind;
  std::string text;
  std::uint32_t line, column;  // from 1; columns count bytes
};

// Letters of names that need no quotes.
inline bool is_letter(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

// The tokens of `text`, with an `End` last. Throws UserError for a character that begins no token.
std::vector<Token> tokenize(std::string_view text);

// The number that the whole text represents; empty if it represents none of this type.
template <class T>
std::optional<T> read_number(std::string_view text, int base = 10) {
  T value{};
  std::from_chars_result result;
  if constexpr (std::is_floating_point_v<T>)
    result = std::from_chars(text.data(), text.data() + text.size(), value);
  else
    result = std::from_chars(text.data(), text.data() + text.size(), value, base);
  bool complete = result.ec == std::errc{} && result.ptr == text.data() + text.size();
  return complete ? std::optional(value) : std::nullopt;
}

// As an error message shows it: 'store', '%12', '@next', the end of the text.
std::string describe(const Token &token);

// Throws UserError "kernel text:<line>: column <column>: <message>".
[[noreturn]] void fail_at(const Token &token, const std::string &message);

}  // namespace samite::ir
