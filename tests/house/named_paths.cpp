#include "named_paths.h"

#include <fmt/format.h>

#include <algorithm>
#include <regex>
#include <sstream>

namespace samite::house {
namespace {

namespace fs = std::filesystem;

// `samite/ir/stmt.h`, `ir/stmt.h`, `tests/house/`, `"samite/ir/stmt.h"`.
bool is_path_of_repository(const std::string &word) {
  static const std::regex path(R"(\.?[A-Za-z][A-Za-z0-9_.-]*/(?:[A-Za-z0-9_.][A-Za-z0-9_.-]*/?)*)");
  return std::regex_match(word, path) && !word.starts_with("build/");
}

void add_words(const std::string &code, int line, std::vector<NamedPath> &named) {
  static const std::regex separators(R"([^\s"',;]+)");
  for (std::sregex_iterator word(code.begin(), code.end(), separators), end; word != end; ++word)
    if (is_path_of_repository(word->str())) named.push_back({word->str(), line, false});
}

void add_links(const std::string &prose, int line, std::vector<NamedPath> &named) {
  static const std::regex link(R"(\]\(([^)#:\s]+)(?:#[^)]*)?\))");
  for (std::sregex_iterator match(prose.begin(), prose.end(), link), end; match != end; ++match)
    named.push_back({(*match)[1].str(), line, true});
}

}  // namespace

std::vector<NamedPath> named_paths(std::string_view markdown) {
  std::vector<NamedPath> named;
  std::istringstream lines{std::string(markdown)};
  std::string language;
  bool in_block = false;
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    if (line.starts_with("```")) {
      in_block = !in_block;
      language = line.substr(3);
      continue;
    }
    if (in_block) {
      if (language == "sh") add_words(line, number, named);
      continue;
    }
    // A code span may hold a lambda, which looks like a link: links are searched in the text without the spans.
    std::string prose;
    std::size_t at = 0;
    for (std::size_t open; (open = line.find('`', at)) != std::string::npos;) {
      const std::size_t close = std::min(line.find('`', open + 1), line.size());
      add_words(line.substr(open + 1, close - open - 1), number, named);
      prose += line.substr(at, open - at) + "code";
      at = std::min(close + 1, line.size());
    }
    add_links(prose + line.substr(at), number, named);
  }
  return named;
}

std::vector<std::string> missing_paths(const fs::path &root, const fs::path &document, std::string_view markdown) {
  const fs::path folder = root / document.parent_path();
  std::vector<std::string> missing;
  for (const NamedPath &named : named_paths(markdown)) {
    std::vector<fs::path> bases{folder};
    if (!named.link) bases.insert(bases.end(), {root, root / "samite"});
    if (std::ranges::none_of(bases, [&](const fs::path &base) { return fs::exists(base / named.path); }))
      missing.push_back(fmt::format("{}:{}: {} is not there", document.generic_string(), named.line, named.path));
  }
  return missing;
}

}  // namespace samite::house
