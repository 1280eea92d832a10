#include "samite/codegen/declarations.h"

#include "samite/base/error.h"
#include "samite/base/lines.h"

#include <algorithm>

namespace samite::codegen {
namespace {

bool begins_identifier(char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; }
bool in_identifier(char c) { return begins_identifier(c) || (c >= '0' && c <= '9'); }

// The end of the literal or comment that begins at `at`, with one of these characters; else `at`. Inline, since all
// headers are read at a program's first launch.
inline bool may_begin_unread(char c) { return c == '/' || c == '"' || c == '\''; }
std::size_t after_unread_from(std::string_view text, std::size_t at);
inline std::size_t after_unread(std::string_view text, std::size_t at) {
  return may_begin_unread(text[at]) ? after_unread_from(text, at) : at;
}
std::size_t after_unread_from(std::string_view text, std::size_t at) {
  const std::size_t size = text.size();
  if (text[at] == '/' && text.substr(at).starts_with("//")) return std::min(text.find('\n', at), size);
  if (text[at] != '"' && text[at] != '\'') return at;
  std::size_t end = at + 1;
  while (end < size && text[end] != text[at]) end += text[end] == '\\' ? 2 : 1;
  return std::min(end + 1, size);
}

// Calls `see` with each identifier outside of literals and comments.
template <class See>
void for_each_identifier(std::string_view text, const See &see) {
  for (std::size_t at = 0; at < text.size();) {
    if (const std::size_t after = after_unread(text, at); after > at) {
      at = after;
    } else if (in_identifier(text[at])) {
      std::size_t end = at;
      while (end < text.size() && in_identifier(text[end])) ++end;
      if (begins_identifier(text[at])) see(text.substr(at, end - at));
      at = end;
    } else {
      ++at;
    }
  }
}

std::string_view first_identifier(std::string_view text) {
  std::string_view first;
  for_each_identifier(text, [&](std::string_view name) { first = first.empty() ? name : first; });
  return first;
}

std::string_view last_identifier(std::string_view text) {
  std::string_view last;
  for_each_identifier(text, [&](std::string_view name) { last = name; });
  return last;
}

// The line without its comment and the blanks before it.
std::string_view code_of(std::string_view line) {
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t after = after_unread(line, at);
    if (after > at && line[at] == '/') line = line.substr(0, at);
    at = std::max(after, at + 1);
  }
  while (line.ends_with(' ')) line.remove_suffix(1);
  return line;
}

// A line's opening minus closing brackets.
int depth_of(std::string_view line) {
  int depth = 0;
  for (std::size_t at = 0; at < line.size();) {
    const std::size_t after = after_unread(line, at);
    if (after == at) depth += (line[at] == '{' || line[at] == '(') - (line[at] == '}' || line[at] == ')');
    at = std::max(after, at + 1);
  }
  return depth;
}

bool is_macro_call(std::string_view line) {
  return line.starts_with("SAMITE_") && line.substr(first_identifier(line).size()).starts_with('(');
}

// The names that the declaration beginning with these lines declares.
std::vector<std::string_view> names_of(std::string_view declaration) {
  std::string_view rest = declaration, line = take_line(rest);
  while (line.starts_with("template <")) {
    while (!code_of(line).ends_with('>') && !rest.empty()) line = take_line(rest);
    line = take_line(rest);
  }
  std::vector<std::string_view> names;
  if (line.starts_with("enum ")) {
    for_each_identifier(declaration.substr(declaration.find('{')),
                        [&](std::string_view name) { names.push_back(name); });
    return names;
  }
  if (is_macro_call(line)) return {first_identifier(line.substr(line.find('(')))};
  for (const std::string_view before : {"#define ", "using ", "struct ", "class "}) {
    if (!line.starts_with(before)) continue;
    line.remove_prefix(before.size());
    if (line.starts_with("alignas(")) line = line.substr(line.rfind(')'));
    return {first_identifier(line)};
  }
  if (const std::size_t at = line.find(" operator"); at != line.npos) {  // belongs to its first operand's type
    line = line.substr(std::min(line.find('(', at), line.size()));
    if (line.starts_with("(const ")) line.remove_prefix(7);
    return {first_identifier(line)};
  }
  constexpr std::string_view attribute = "__attribute__";
  if (const std::size_t at = line.find(attribute); at + attribute.size() == line.find('('))
    line.remove_prefix(line.find("))", at) + 2);
  line = line.substr(0, line.find_first_of("(={;"));
  if (code_of(line).ends_with('>')) line = line.substr(0, line.find('<'));
  return {last_identifier(line)};
}

bool is_assertion(std::string_view declaration) { return declaration.starts_with("static_assert("); }

// The lines of a declaration that begins `text`; empty if the first one is blank, a comment or a namespace's.
std::string_view take_declaration(std::string_view &text) {
  const std::string_view from = text, first = take_line(text);
  if (code_of(first).empty() || first.starts_with("namespace ") || first.starts_with('}')) return {};
  const auto taken = [&] { return from.substr(0, from.size() - text.size()); };
  if (first.starts_with("#if")) {
    for (int open = 1; open > 0 && !text.empty();) {
      const std::string_view line = take_line(text);
      open += line.starts_with("#if") ? 1 : line.starts_with("#endif") ? -1 : 0;
    }
    return taken();
  }
  if (first.starts_with('#')) {
    for (std::string_view line = first; line.ends_with('\\');) line = take_line(text);
    return taken();
  }
  int depth = 0;
  for (std::string_view line = first;; line = take_line(text)) {
    if (!line.starts_with('#')) {
      depth += depth_of(line);
      const std::string_view code = code_of(line);
      if (depth == 0 && (code.ends_with(';') || code.ends_with('}') || is_macro_call(first))) return taken();
    }
    if (text.empty()) throw InternalError("a declaration of a device header does not end: " + std::string(first));
  }
}

}  // namespace

Declarations::Declarations(std::string headers) : headers_(std::move(headers)) {
  read();
  for (std::size_t i = 0; i < declarations_.size(); ++i)
    for (const std::string_view name : declarations_[i].names) of_name_[name].push_back(i);
}

void Declarations::read() {
  for (std::string_view rest = headers_; !rest.empty();) {
    Declaration own{take_declaration(rest), {}};
    if (own.text.empty()) continue;
    if (own.text.starts_with("#if")) {
      std::string_view inner = own.text;
      for (take_line(inner); !inner.empty();) {
        const std::string_view part = take_declaration(inner);
        if (!part.empty() && !part.starts_with('#'))
          for (const std::string_view name : names_of(part)) own.names.push_back(name);
      }
    } else if (!own.text.starts_with("#undef") && !is_assertion(own.text)) {
      own.names = names_of(own.text);
      if (own.names.empty() || own.names.front().empty())
        throw InternalError("a declaration of a device header has no name: " + std::string(own.text));
    }
    declarations_.push_back(std::move(own));
  }
}

std::vector<std::size_t> Declarations::named_in(std::string_view text) const {
  std::vector<std::size_t> found;
  for_each_identifier(text, [&](std::string_view name) {
    if (auto of_name = of_name_.find(name); of_name != of_name_.end())
      found.insert(found.end(), of_name->second.begin(), of_name->second.end());
  });
  return found;
}

std::string Declarations::needed_by(std::string_view text) const {
  std::vector<bool> needed(declarations_.size());
  for (std::vector<std::size_t> open = named_in(text); !open.empty();) {
    const std::size_t next = open.back();
    open.pop_back();
    if (needed[next]) continue;
    needed[next] = true;
    for (std::size_t other : named_in(declarations_[next].text))
      if (!needed[other]) open.push_back(other);
  }
  std::string result = "namespace samite {\n";
  for (std::size_t i = 0; i < declarations_.size(); ++i) {
    const Declaration &own = declarations_[i];
    // A declaration that declares no name, such as a static_assert, is included if all names in it are.
    if (own.names.empty())
      needed[i] = std::ranges::all_of(named_in(own.text), [&](std::size_t other) { return needed[other]; });
    if (needed[i]) result += own.text;
  }
  return result += "}  // namespace samite\n";
}

std::vector<std::string> Declarations::names() const {
  std::vector<std::string> names;
  for (const auto &[name, declarations] : of_name_) names.emplace_back(name);
  std::ranges::sort(names);
  return names;
}

}  // namespace samite::codegen
