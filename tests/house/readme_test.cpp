#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace samite {
namespace {

namespace fs = std::filesystem;

const fs::path root = SAMITE_SOURCE_DIR;

std::string text_of(const fs::path &path) {
  std::ifstream stream(path, std::ios::binary);
  EXPECT_TRUE(stream) << path;
  std::ostringstream text;
  text << stream.rdbuf();
  return text.str();
}

// Without their indentation, which a part of a program loses in a document.
std::vector<std::string> lines_of(const std::string &text) {
  std::vector<std::string> lines;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    lines.push_back(line.substr(std::min(line.find_first_not_of(' '), line.size())));
  return lines;
}

std::vector<fs::path> documents() {
  std::vector<fs::path> paths{root / "README.md", root / "CONTRIBUTING.md"};
  for (const char *folder : {"docs", "examples"})
    for (const fs::directory_entry &entry : fs::recursive_directory_iterator(root / folder))
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
  const std::vector<std::string> blocks = cpp_blocks(text_of(root / "README.md"));

  std::vector<std::string> programs;
  for (const char *name : {"axpy", "gradient", "fit"})
    programs.push_back(text_of(root / "examples" / (std::string(name) + ".cpp")));

  EXPECT_EQ(blocks, programs);
}

TEST(Documents, ShowCodeThatIsPartOfAnExample) {
  std::vector<std::vector<std::string>> examples;
  for (const fs::directory_entry &entry : fs::recursive_directory_iterator(root / "examples"))
    if (entry.path().extension() == ".cpp" || entry.path().extension() == ".h")
      examples.push_back(lines_of(text_of(entry.path())));

  for (const fs::path &document : documents())
    for (const std::string &block : cpp_blocks(text_of(document)))
      EXPECT_TRUE(std::any_of(examples.begin(), examples.end(),
                              [&](const auto &example) { return is_part_of(lines_of(block), example); }))
          << document << " has code that no file in examples/ has:\n"
          << block;
}

TEST(Documents, LinkToFilesThatExist) {
  const std::regex link(R"(\[[^\]]+\]\(([^)#:\s]+)(#[^)]*)?\))");  // a lambda has nothing, or &, in its brackets
  for (const fs::path &document : documents()) {
    const std::string text = text_of(document);
    for (std::sregex_iterator match(text.begin(), text.end(), link), end; match != end; ++match)
      EXPECT_TRUE(fs::exists(document.parent_path() / (*match)[1].str())) << document << ": " << match->str();
  }
}

// `samite/ir/stmt.h`, or `ir/stmt.h`: the library's own folder may be left out.
TEST(Documents, NameFilesThatExist) {
  const std::regex path(R"re([`"]((?:[A-Za-z0-9_]+/)+[A-Za-z0-9_.]+\.(?:h|cpp|md|py|txt|jsonl))[`"])re");
  int named = 0;
  for (const fs::path &document : documents()) {
    const std::string text = text_of(document);
    for (std::sregex_iterator match(text.begin(), text.end(), path), end; match != end; ++match) {
      const fs::path file = (*match)[1].str();
      const fs::path folders[] = {root, root / "samite", document.parent_path()};
      EXPECT_TRUE(std::ranges::any_of(folders, [&](const fs::path &folder) { return fs::exists(folder / file); }))
          << document << " names " << file << ", which does not exist";
      ++named;
    }
  }
  EXPECT_GT(named, 50);
}

// One order of passes, wherever it is told.
TEST(Documents, TellTheSamePath) {
  std::vector<std::string> paths;
  for (const fs::path &document : {root / "README.md", root / "docs/architecture.md"})
    for (const std::string &line : lines_of(text_of(document)))
      if (line.starts_with("capture → ")) paths.push_back(line);
  ASSERT_EQ(paths.size(), 2u);
  EXPECT_EQ(paths[0], paths[1]);
}

}  // namespace
}  // namespace samite
