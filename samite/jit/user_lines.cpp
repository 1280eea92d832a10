#include "samite/jit/user_lines.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

namespace samite::jit {
namespace {

// As a string literal of C++.
std::string quoted(std::string_view file) {
  std::string text = "\"";
  for (char c : file) {
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + '"';
}

}  // namespace

bool debug_info_wanted() {
  static const bool wanted = [] {
    const char *text = std::getenv("SAMITE_DEBUG_INFO");
    return text && *text && std::string_view(text) != "0";
  }();
  return wanted;
}

std::string with_user_lines(const codegen::EmittedSource &emitted) {
  const auto first = std::ranges::find_if(emitted.lines, &SourceLocation::known);
  if (first == emitted.lines.end()) return emitted.text;
  SourceLocation here = *first;
  std::string text;
  bool continued = false;  // by a backslash: no place for a directive
  std::size_t begin = 0;
  for (const SourceLocation &where : emitted.lines) {
    const std::size_t end = std::min(emitted.text.find('\n', begin), emitted.text.size());
    const std::string_view line = std::string_view(emitted.text).substr(begin, end - begin);
    if (where.known()) here = where;
    if (!continued) text += "#line " + std::to_string(here.line) + " " + quoted(here.file) + "\n";
    text.append(line) += '\n';
    continued = line.ends_with('\\');
    begin = std::min(end + 1, emitted.text.size());
  }
  return text.append(emitted.text, begin);
}

}  // namespace samite::jit
