#include "samite/ir/tokens.h"

#include "samite/base/error.h"

#include <fmt/format.h>

namespace samite::ir {
namespace {

// Not <cctype>: whether a character is a letter must not depend on the process's locale.
bool is_hex_digit(char c) { return is_digit(c) || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

class Lexer {
 public:
  explicit Lexer(std::string_view text) : text_(text) {}

  std::vector<Token> run() {
    std::vector<Token> tokens;
    for (;;) {
      skip_space_and_comments();
      tokens.push_back(next());
      if (tokens.back().kind == TokenKind::End) return tokens;
    }
  }

 private:
  char peek(std::size_t ahead = 0) const { return at_ + ahead < text_.size() ? text_[at_ + ahead] : '\0'; }

  char advance() {
    char c = text_[at_++];
    if (c == '\n') {
      ++line_;
      column_ = 1;
    } else {
      ++column_;
    }
    return c;
  }

  void skip_space_and_comments() {
    while (at_ < text_.size()) {
      if (peek() == '/' && peek(1) == '/') {
        while (at_ < text_.size() && peek() != '\n') advance();
      } else if (peek() == ' ' || peek() == '\n' || peek() == '\t' || peek() == '\r') {
        advance();
      } else {
        return;
      }
    }
  }

  Token next() {
    Token token{TokenKind::End, "", line_, column_};
    if (at_ == text_.size()) return token;
    char c = peek();
    if (is_letter(c)) {
      token.kind = TokenKind::Word;
      take_while(token, [](char c) { return is_letter(c) || is_digit(c); });
    } else if (is_digit(c) || (c == '-' && is_digit(peek(1)))) {
      take_number(token);
    } else if (text_.substr(at_, 4) == "-inf") {
      token.kind = TokenKind::Word;
      take(token, 4);
    } else if (c == '%') {
      token.kind = TokenKind::Local;
      advance();
      take_while(token, is_digit);
      if (token.text.empty()) fail_at(token, "expected the number of a local after '%'");
    } else if (c == '$') {
      token.kind = TokenKind::LocalArray;
      advance();
      take_while(token, is_digit);
      if (token.text.empty()) fail_at(token, "expected the number of a local array after '$'");
    } else if (c == '@') {
      token.kind = TokenKind::Name;
      advance();
      if (peek() == '"') {
        take_string(token);
      } else {
        take_while(token, [](char c) { return is_letter(c) || is_digit(c); });
        if (token.text.empty() || is_digit(token.text[0])) fail_at(token, "expected a name after '@'");
      }
    } else if (c == '"') {
      token.kind = TokenKind::String;
      take_string(token);
    } else {
      take_punctuation(token);
    }
    return token;
  }

  void take(Token &token, std::size_t count) {
    for (std::size_t i = 0; i < count; ++i) token.text += advance();
  }

  template <class Predicate>
  void take_while(Token &token, Predicate predicate) {
    while (at_ < text_.size() && predicate(peek())) token.text += advance();
  }

  void take_number(Token &token) {
    token.kind = TokenKind::Integer;
    if (peek() == '-') take(token, 1);
    if (peek() == '0' && peek(1) == 'x') {
      take(token, 2);
      take_while(token, is_hex_digit);
      return;
    }
    take_while(token, is_digit);
    if (peek() == '.' && peek(1) != '.') {  // `0..8` is a range, not a fraction
      token.kind = TokenKind::Floating;
      take(token, 1);
      take_while(token, is_digit);
    }
    bool exponent_sign = peek(1) == '+' || peek(1) == '-';
    if (peek() == 'e' && is_digit(peek(exponent_sign ? 2 : 1))) {
      token.kind = TokenKind::Floating;
      take(token, exponent_sign ? 2 : 1);
      take_while(token, is_digit);
    }
  }

  void take_string(Token &token) {
    advance();
    while (peek() != '"') {
      if (at_ == text_.size() || peek() == '\n') fail_at(token, "expected '\"' at the end of the string");
      char c = advance();
      token.text += c == '\\' ? take_escape(token) : c;
    }
    advance();
  }

  char take_escape(const Token &string) {
    char c = peek();
    if (c == '"' || c == '\\') return advance();
    if (c == 'x' && is_hex_digit(peek(1)) && is_hex_digit(peek(2))) {
      advance();
      std::string digits{advance(), advance()};
      return static_cast<char>(std::stoi(digits, nullptr, 16));
    }
    fail_at(string, "expected \\\", \\\\ or \\x and two digits after the '\\' in the string");
  }

  void take_punctuation(Token &token) {
    token.kind = TokenKind::Punctuation;
    for (std::string_view two : {"->", "+=", ".."})
      if (text_.substr(at_, 2) == two) return take(token, 2);
    if (std::string_view("()[]{}<>,:=|.").find(peek()) == std::string_view::npos)
      fail_at(token, fmt::format("expected a statement, a value or punctuation, found the character '{}'",
                                 text_.substr(at_, 1)));
    take(token, 1);
  }

  std::string_view text_;
  std::size_t at_ = 0;
  std::uint32_t line_ = 1, column_ = 1;
};

}  // namespace

std::vector<Token> tokenize(std::string_view text) { return Lexer(text).run(); }

std::string describe(const Token &token) {
  switch (token.kind) {
    case TokenKind::End: return "the end of the text";
    case TokenKind::Local: return fmt::format("'%{}'", token.text);
    case TokenKind::LocalArray: return fmt::format("'${}'", token.text);
    case TokenKind::Name: return fmt::format("'@{}'", token.text);
    case TokenKind::String: return fmt::format("the string \"{}\"", token.text);
    default: return fmt::format("'{}'", token.text);
  }
}

void fail_at(const Token &token, const std::string &message) {
  throw UserError(SourceLocation("kernel text", token.line), fmt::format("column {}: {}", token.column, message));
}

}  // namespace samite::ir
