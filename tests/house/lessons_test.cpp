// Each lesson has a page that shows its programs exactly as they are run, in the order of their numbers.
#include "text_of.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

namespace samite::house {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;

const fs::path programs = fs::path(SAMITE_SOURCE_DIR) / "examples/lessons";
const fs::path pages = fs::path(SAMITE_SOURCE_DIR) / "docs/lessons";

// The programs of each page, by the page's name: "01-kernel" has 01_kernel.cpp and 01_kernel.py.
std::map<std::string, std::vector<fs::path>> programs_of_lessons() {
  std::map<std::string, std::vector<fs::path>> found;
  for (const fs::directory_entry &entry : fs::directory_iterator(programs)) {
    std::string name = entry.path().stem().string();
    if (name.front() < '0' || name.front() > '9') continue;
    std::replace(name.begin(), name.end(), '_', '-');
    found[name].push_back(entry.path());
  }
  return found;
}

TEST(Lessons, AreTwentyWithAPageEach) {
  int number = 0;
  const std::string index = text_of(pages / "index.md");
  std::size_t at = 0;
  for (const auto &[name, sources] : programs_of_lessons()) {
    ++number;
    EXPECT_EQ(std::stoi(name), number);
    const std::string link = "(" + name + ".md)";
    EXPECT_TRUE(fs::exists(pages / (name + ".md"))) << name;
    EXPECT_NE(index.find(link, at), std::string::npos) << link << " in index.md, after those before it";
    at = std::min(index.find(link, at), index.size());
  }
  EXPECT_EQ(number, 20);
}

TEST(Lessons, ShowTheirProgramsAsTheyAreRun) {
  for (const auto &[name, sources] : programs_of_lessons()) {
    const std::string page = text_of(pages / (name + ".md"));
    for (const fs::path &source : sources) {
      const std::string language = source.extension() == ".py" ? "python" : "cpp";
      const std::string program = text_of(source);
      EXPECT_THAT(page, HasSubstr("```" + language + "\n" + program + "```\n")) << source;
      EXPECT_LE(std::count(program.begin(), program.end(), '\n'), 60) << source;
    }
  }
}

TEST(Lessons, EndWithAnExerciseAndAHint) {
  for (const auto &[name, sources] : programs_of_lessons()) {
    const std::string page = text_of(pages / (name + ".md"));
    const std::size_t exercise = page.find("\n## Exercise\n");
    ASSERT_NE(exercise, std::string::npos) << name;
    EXPECT_NE(page.find("\n**Hint.** ", exercise), std::string::npos) << name;
    EXPECT_EQ(page.find("\n## Exercise\n", exercise + 1), std::string::npos) << name << " has more than one";
  }
}

}  // namespace
}  // namespace samite::house
