#include "samite/jit/page/html.h"

#include <algorithm>
#include <array>

namespace samite::html {
namespace {

// The bytes of the character that begins here; 0 if it is invalid. RFC 3629: no overlong forms, no surrogates.
std::size_t character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
  const auto continues = [&](std::size_t i) { return (byte(i) & 0xc0u) == 0x80u; };
  const unsigned int first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return continues(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const bool allowed = (first != 0xe0 || byte(1) >= 0xa0) && (first != 0xed || byte(1) < 0xa0);
    return allowed && continues(1) && continues(2) ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const bool allowed = (first != 0xf0 || byte(1) >= 0x90) && (first != 0xf4 || byte(1) < 0x90);
    return allowed && continues(1) && continues(2) && continues(3) ? 4 : 0;
  }
  return 0;
}

bool is_word(std::string_view word) {
  static constexpr std::array words{
      "auto",  "bool",   "break",  "const",      "constexpr",  "continue",      "else",     "extern",     "f16",
      "f32",   "f64",    "bf16",   "false",      "for",        "goto",          "i16",      "i32",        "i64",
      "i8",    "if",     "inline", "namespace",  "nullptr",    "return",        "static",   "struct",     "true",
      "u16",   "u32",    "u64",    "u8",         "using",      "void",          "while",    "unsigned",   "int",
      "float", "double", "char",   "__global__", "__shared__", "__syncthreads", "template", "static_cast"};
  return std::ranges::find(words, word) != words.end();
}

bool begins_name(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

}  // namespace

std::string escaped(std::string_view text) {
  std::string result;
  while (!text.empty()) {
    const std::size_t size = character(text);
    const auto first = static_cast<unsigned char>(text[0]);
    if (size == 0 || (first < ' ' && first != '\n' && first != '\t') || first == 0x7f)
      result += "\xef\xbf\xbd";
    else if (first == '&')
      result += "&amp;";
    else if (first == '<')
      result += "&lt;";
    else if (first == '>')
      result += "&gt;";
    else if (first == '"')
      result += "&quot;";
    else if (first == '\'')
      result += "&#39;";
    else
      result += text.substr(0, size);
    text.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return result;
}

std::string highlighted(std::string_view line) {
  std::string result;
  const auto put = [&](std::string_view part, const char *kind) {
    if (kind)
      (result += "<b class=\"") += kind, result += "\">", result += escaped(part), result += "</b>";
    else
      result += escaped(part);
  };
  while (!line.empty()) {
    std::size_t size = 1;
    const char *kind = nullptr;
    if (line.starts_with("//")) {
      size = line.size(), kind = "r";
    } else if (begins_name(line[0])) {
      while (size < line.size() && (begins_name(line[size]) || is_digit(line[size]))) ++size;
      if (is_word(line.substr(0, size))) kind = "w";
    } else if (is_digit(line[0])) {
      while (size < line.size() && (begins_name(line[size]) || is_digit(line[size]) || line[size] == '.')) ++size;
      kind = "n";
    } else if (line[0] == '"') {
      while (size < line.size() && line[size] != '"') size += line[size] == '\\' ? 2 : 1;
      size = std::min(size + 1, line.size()), kind = "n";
    } else if (line[0] == '#') {
      while (size < line.size() && begins_name(line[size])) ++size;
      kind = "w";
    } else {
      while (size < line.size() && !begins_name(line[size]) && !is_digit(line[size]) && line[size] != '"' &&
             line[size] != '#' && !line.substr(size).starts_with("//"))
        ++size;
    }
    put(line.substr(0, size), kind);
    line.remove_prefix(size);
  }
  return result;
}

}  // namespace samite::html
