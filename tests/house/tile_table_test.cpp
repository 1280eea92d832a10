// The table of docs/tiles.md has every function on tiles, and nothing else.
#include "text_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace samite::house {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

// The names of the functions that a header declares in the namespaces samite and tile, also by macros of its own, such
// as SAMITE_TILE_FUNCTION(sqrt, Sqrt).
std::set<std::string> functions_in(const std::string &header) {
  const std::regex opening("namespace (\\w+) \\{"), closing("\\}  // namespace (\\w+)");
  const std::regex function("[A-Za-z][^(=;]*[ &>*]([a-z][a-z_0-9]*)\\(.*"), by_macro("SAMITE_\\w+\\(([a-z_0-9]+), .*");
  const std::regex by_name("using samite::(\\w+);.*");
  std::set<std::string> names;
  std::vector<std::string> spaces;
  std::istringstream lines(header);
  std::smatch match;
  for (std::string line; std::getline(lines, line);) {
    if (std::regex_match(line, match, opening)) spaces.push_back(match[1]);
    if (std::regex_match(line, match, closing) && !spaces.empty()) spaces.pop_back();
    const bool for_users = !spaces.empty() && (spaces.back() == "samite" || spaces.back() == "tile");
    const bool refused = line.find("= delete") != std::string::npos || line.starts_with("SAMITE_REFUSED");
    if (!for_users || refused || line.starts_with("template") || line.starts_with("namespace")) continue;
    if (std::regex_match(line, match, by_macro) || std::regex_match(line, match, function) ||
        std::regex_match(line, match, by_name))
      names.insert(match[1]);
  }
  return names;
}

// The names in backquotes, except those of types, between "## What there is" and the next heading.
std::set<std::string> names_in_table(const std::string &markdown) {
  const std::size_t begin = markdown.find("## What there is\n");
  EXPECT_NE(begin, std::string::npos);
  if (begin == std::string::npos) return {};
  std::istringstream lines(markdown.substr(begin, markdown.find("\n## ", begin) - begin));
  const std::regex name("`(?:tile::)?([a-z][a-z_0-9]*)`");
  std::set<std::string> names;
  for (std::string line; std::getline(lines, line);)
    if (line.starts_with("|"))
      for (std::sregex_iterator each(line.begin(), line.end(), name), end; each != end; ++each)
        names.insert((*each)[1]);
  for (const char *type : {"float", "double", "int32", "uint32"}) names.erase(type);
  return names;
}

std::vector<std::string> without(const std::set<std::string> &names, const std::set<std::string> &others) {
  std::vector<std::string> left;
  for (const std::string &name : names)
    if (!others.contains(name)) left.push_back(name);
  return left;
}

TEST(TileTable, HasEveryFunctionOnTiles) {
  const fs::path repository = SAMITE_SOURCE_DIR;
  std::set<std::string> functions, of_the_language;
  for (const fs::directory_entry &entry : fs::directory_iterator(repository / "samite/lang")) {
    const std::string name = entry.path().filename().string();
    if (entry.path().extension() != ".h" || name == "tile_refused.h") continue;
    const std::set<std::string> found = functions_in(text_of(entry.path()));
    if (name.starts_with("tile")) functions.insert(found.begin(), found.end());
    of_the_language.insert(found.begin(), found.end());
  }
  EXPECT_GT(functions.size(), 100u);
  const std::set<std::string> listed = names_in_table(text_of(repository / "docs/tiles.md"));
  EXPECT_THAT(without(functions, listed), IsEmpty()) << "functions that the table lacks";
  EXPECT_THAT(without(listed, of_the_language), IsEmpty()) << "names in the table that no header declares";
}

TEST(TileTable, FunctionsAreFound) {
  const char *header =
      "namespace samite {\n"
      "namespace lang {\n"
      "void record(int op);\n"
      "}  // namespace lang\n"
      "namespace tile {\n"
      "template <class T>\n"
      "Tile<T> flip(const Tile<T> &x,\n"
      "             int dimension);\n"
      "inline Int count(const Tile<bool> &x) { return sum(x); }\n"
      "SAMITE_TILE_REDUCTION(min, ReduceMin)  // of a number\n"
      "using samite::cast;  // of the elements\n"
      "SAMITE_REFUSED(exp)  // of floating numbers\n"
      "}  // namespace tile\n"
      "}  // namespace samite\n";
  const std::set<std::string> found = functions_in(header);
  EXPECT_THAT(std::vector(found.begin(), found.end()), ElementsAre("cast", "count", "flip", "min"));
}

}  // namespace
}  // namespace samite::house
