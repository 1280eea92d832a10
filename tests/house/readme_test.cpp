#include "text_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

namespace samite {
namespace {

namespace fs = std::filesystem;

using house::text_of;

const fs::path sources = SAMITE_SOURCE_DIR;

// Without their indentation, which a part of a program loses in a document.
std::vector<std::string> lines_of(const std::string &text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    lines.push_back(line.substr(std::min(line.find_first_not_of(' '), line.size())));
  return lines;
}

std::vector<fs::path> documents_with_code() {
  std::vector<fs::path> paths{sources / "README.md", sources / "CONTRIBUTING.md", sources / "CHANGELOG.md"};
  for (const char *folder : {"docs", "examples"})
    for (const fs::directory_entry &entry : fs::recursive_directory_iterator(sources / folder))
      if (entry.path().extension() == ".md") paths.push_back(entry.path());
  return paths;
}

std::vector<std::string> cpp_blocks(const std::string &document) {
  const std::string open = "```cpp\n", close = "```";
  std::vector<std::string> blocks;
  for (std::size_t at = 0; (at = document.find(open, at)) != std::string::npos;) {
    at += open.size();
    const std::size_t end = document.find(close, at);
    blocks.push_back(document.substr(at, end - at));
    at = end;
  }
  return blocks;
}

bool is_part_of(const std::vector<std::string> &part, const std::vector<std::string> &whole) {
  return std::search(whole.begin(), whole.end(), part.begin(), part.end()) != whole.end();
}

TEST(Readme, ShowsItsProgramsAsTheyAreBuiltAndRun) {
  const std::vector<std::string> blocks = cpp_blocks(text_of(sources / "README.md"));

  std::vector<std::string> programs;
  for (const char *name : {"axpy", "gradient", "fit"})
    programs.push_back(text_of(sources / "examples" / (std::string(name) + ".cpp")));

  // Parts of programs come before them.
  ASSERT_GE(blocks.size(), programs.size());
  EXPECT_EQ(std::vector(blocks.end() - static_cast<std::ptrdiff_t>(programs.size()), blocks.end()), programs);
}

TEST(Documents, ShowCodeThatIsPartOfAnExample) {
  std::vector<std::vector<std::string>> examples;
  for (const fs::directory_entry &entry : fs::recursive_directory_iterator(sources / "examples"))
    if (entry.path().extension() == ".cpp" || entry.path().extension() == ".h")
      examples.push_back(lines_of(text_of(entry.path())));

  for (const fs::path &document : documents_with_code())
    for (const std::string &block : cpp_blocks(text_of(document)))
      EXPECT_TRUE(std::any_of(examples.begin(), examples.end(),
                              [&](const auto &example) { return is_part_of(lines_of(block), example); }))
          << document << " has code that no file in examples/ has:\n"
          << block;
}

// Lessons are added to the contents by site/hooks.py.
TEST(Documents, AreInTheContentsOfTheSite) {
  const std::string contents = text_of(sources / "site/mkdocs.yml");
  for (const fs::directory_entry &entry : fs::directory_iterator(sources / "docs"))
    if (entry.path().extension() == ".md")
      EXPECT_NE(contents.find(": " + entry.path().filename().string() + "\n"), std::string::npos) << entry.path();
}

std::set<std::string> all_matches(const std::string &text, const std::regex &pattern) {
  std::set<std::string> found;
  for (std::sregex_iterator match(text.begin(), text.end(), pattern), end; match != end; ++match)
    found.insert((*match)[1].str());
  return found;
}

// The part of a document between a heading and the next one of its level.
std::string section(const std::string &document, const std::string &heading) {
  const std::size_t at = document.find("\n## " + heading + "\n");
  EXPECT_NE(at, std::string::npos) << heading;
  return document.substr(at, document.find("\n## ", at + 1) - at);
}

// Each step that the pipeline runs has a row, and each row is such a step.
TEST(Documents, ListTheStepsOfThePipeline) {
  std::set<std::string> steps =
      all_matches(text_of(sources / "samite/jit/pipeline.cpp"), std::regex(R"re(ir::Form::[a-z]+,\s*"([a-z_]+)"\))re"));
  EXPECT_GT(steps.size(), 10u);
  steps.merge(all_matches(text_of(sources / "samite/jit/steps.cpp"), std::regex(R"re(\n +\{"([a-z_]+)", Step::)re")));
  EXPECT_GT(steps.size(), 40u);
  EXPECT_EQ(all_matches(section(text_of(sources / "docs/architecture.md"), "A kernel's path"),
                        std::regex(R"re(\n\| `([a-z_]+)` \|)re")),
            steps);
}

// The grammar has each word that the parser of the IR looks for.
TEST(Documents, GrammarHasTheWordsOfTheParser) {
  std::set<std::string> words;
  for (const char *source : {"parse", "parse_values", "parse_tiles", "parse_control"}) {
    const std::size_t before = words.size();
    words.merge(all_matches(text_of(sources / "samite/ir" / (source + std::string(".cpp"))),
                            std::regex(R"re((?:accept|expect_word|expect|is)\("([a-z][a-z_0-9]*)"\))re")));
    EXPECT_GT(words.size(), before) << source;
  }
  EXPECT_GT(words.size(), 30u);
  const std::set<std::string> of_grammar =
      all_matches(section(text_of(sources / "docs/ir.md"), "Grammar"), std::regex(R"re("([a-z][a-z_0-9]*)")re"));
  for (const std::string &word : words) EXPECT_TRUE(of_grammar.contains(word)) << word;
}

}  // namespace
}  // namespace samite
