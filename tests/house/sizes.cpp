#include "sizes.h"

#include <algorithm>
#include <cctype>
#include <sstream>
#include <vector>

namespace samite::house {
namespace {

// Spaces instead of the preprocessor's lines.
std::string without_directives(std::string_view text) {
  std::istringstream lines{std::string(text)};
  std::string code;
  bool goes_on = false;
  for (std::string line; std::getline(lines, line);) {
    const bool is_directive = goes_on || line.starts_with("#");
    goes_on = is_directive && line.ends_with("\\");
    code += (is_directive ? "" : line) + '\n';
  }
  return code;
}

// The text with its comments, and the contents of its literals, as spaces: the lines stay.
std::string code_of(std::string_view text) {
  std::string code = without_directives(text);
  enum class In { code, line, block, string, character } in = In::code;
  for (std::size_t i = 0; i < code.size(); ++i) {
    const char c = code[i], next = i + 1 < code.size() ? code[i + 1] : '\0';
    switch (in) {
      case In::code:
        if (c == '/' && (next == '/' || next == '*')) {
          in = next == '/' ? In::line : In::block;
          code[i] = code[i + 1] = ' ';
          ++i;
        } else if (c == '"') {
          in = In::string;
        } else if (c == '\'' && (i == 0 || !std::isalnum(static_cast<unsigned char>(code[i - 1])))) {
          in = In::character;
        }
        break;
      case In::line:
        if (c == '\n')
          in = In::code;
        else
          code[i] = ' ';
        break;
      case In::block:
        if (c == '*' && next == '/') {
          in = In::code;
          code[i] = code[i + 1] = ' ';
          ++i;
        } else if (c != '\n') {
          code[i] = ' ';
        }
        break;
      case In::string:
      case In::character:
        if (c == '\\') {
          code[i] = code[i + 1] = ' ';
          ++i;
        } else if (c == (in == In::string ? '"' : '\'')) {
          in = In::code;
        } else if (c != '\n') {
          code[i] = ' ';
        }
        break;
    }
  }
  return code;
}

std::vector<std::string> words_of(const std::string &text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

// Without the text between < and >, which may have parentheses and commas of its own.
std::string without_templates(const std::string &text) {
  std::string rest;
  int depth = 0;
  for (const char c : text) {
    if (c == '<') ++depth;
    if (depth == 0) rest += c;
    if (c == '>' && depth > 0) --depth;
  }
  return rest;
}

// The word before the first parenthesis.
std::string name_of_function(const std::string &header) {
  std::string before = header.substr(0, header.find('('));
  before.erase(before.find_last_not_of(' ') + 1);
  return before.substr(before.find_last_of(" *&") + 1);
}

// The name of a struct or class; empty if the header belongs to neither.
std::string name_of_class(const std::string &header) {
  const std::vector<std::string> words = words_of(without_templates(header));
  for (std::size_t i = 0; i + 1 < words.size(); ++i)
    if (words[i] == "struct" || words[i] == "class") return words[i + 1].substr(0, words[i + 1].find('('));
  return "";
}

// The data members that a statement of a class declares.
int members_in(const std::string &statement) {
  const std::string text = without_templates(statement), first = text.substr(0, text.find_first_of("={,"));
  const std::vector<std::string> words = words_of(first);
  if (words.size() < 2 || first.find('(') != std::string::npos) return 0;
  for (const char *other : {"using", "friend", "static", "enum", "struct", "class", "template", "typedef"})
    if (std::ranges::find(words, other) != words.end()) return 0;
  int members = 1, depth = 0;
  for (const char c : text) {
    if (c == '(' || c == '{') ++depth;
    if (c == ')' || c == '}') --depth;
    if (c == ',' && depth == 0) ++members;
  }
  return members;
}

class Reader {
 public:
  Reader(const std::string &path, std::string_view text) : path_(path), code_(code_of(text)) {}

  Sizes sizes() {
    for (const char c : code_) read(c);
    sizes_["lines of " + path_] = line_ - 1;
    return sizes_;
  }

 private:
  enum class Kind { scope, of_class, function, other };
  struct Open {
    Kind kind;
    std::string name, statement;  // the text before it
    int line, members = 0;
  };

  bool is_at_scope() const {
    return std::ranges::all_of(open_,
                               [](const Open &one) { return one.kind == Kind::scope || one.kind == Kind::of_class; });
  }
  void read(char c) {
    if (c == '\n') ++line_;
    if (c == '{')
      begin();
    else if (c == '}')
      end();
    else if (c == ';' && parentheses_ == 0)
      finish_statement();
    else if (c == ':' && (words_of(statement_) == std::vector<std::string>{"public"} ||
                          words_of(statement_) == std::vector<std::string>{"private"}))
      statement_.clear();
    else
      add(c);
    if (c == '(') ++parentheses_;
    if (c == ')') --parentheses_;
  }
  void add(char c) {
    if (is_at_scope()) {
      if (words_of(statement_).empty()) first_line_ = line_;
      statement_ += c == '\n' ? ' ' : c;
    }
  }
  Open opened() const {
    if (!is_at_scope()) return {Kind::other, "", "", line_};
    const std::string header = statement_;
    const std::vector<std::string> words = words_of(header);
    const bool is_namespace = std::ranges::find(words, "namespace") != words.end() || header.starts_with("extern");
    if (is_namespace) return {Kind::scope, "", "", line_};
    const bool is_enum = std::ranges::find(words, "enum") != words.end();
    if (const std::string name = name_of_class(header); !name.empty() && !is_enum)
      return {Kind::of_class, name, "", first_line_};
    const std::string plain = without_templates(header);
    if (plain.find('(') < plain.find('=')) return {Kind::function, name_of_function(plain), "", first_line_};
    return {Kind::other, "", header, line_};  // an initialiser
  }
  void begin() {
    open_.push_back(opened());
    statement_.clear();
  }
  void end() {
    if (open_.empty()) return;
    const Open ended = open_.back();
    open_.pop_back();
    // Words in capitals are macros, several of which may come before a brace.
    const bool is_macro = std::ranges::none_of(ended.name, [](unsigned char c) { return std::islower(c) != 0; });
    if (ended.kind == Kind::function && !is_macro)
      keep("lines of " + ended.name + " in " + path_, line_ - ended.line + 1);
    if (ended.kind == Kind::of_class && ended.members > 0)
      keep("members of " + ended.name + " in " + path_, ended.members);
    if (is_at_scope()) statement_ = ended.kind == Kind::other ? ended.statement : "";
  }
  void finish_statement() {
    if (!open_.empty() && open_.back().kind == Kind::of_class) open_.back().members += members_in(statement_);
    statement_.clear();
  }
  void keep(const std::string &what, int size) { sizes_[what] = std::max(sizes_[what], size); }

  std::string path_, code_;
  Sizes sizes_;
  std::vector<Open> open_;
  std::string statement_;  // at the scope of a namespace or a class
  int line_ = 1, first_line_ = 1, parentheses_ = 0;
};

}  // namespace

Sizes sizes_of(const std::string &path, std::string_view text) { return Reader(path, text).sizes(); }

int limit_of(const std::string &measured) {
  if (measured.starts_with("members")) return 15;
  return measured.find(" in ") != std::string::npos ? 80 : 600;
}

Sizes read_sizes(std::string_view text) {
  Sizes sizes;
  std::istringstream lines{std::string(text)};
  for (std::string line; std::getline(lines, line);) {
    if (line.empty() || line.starts_with("#")) continue;
    const std::size_t space = line.find(' ');
    sizes[line.substr(space + 1)] = std::stoi(line.substr(0, space));
  }
  return sizes;
}

}  // namespace samite::house
