// Debug information that points to the user's lines.
#include "samite/jit/user_lines.h"
#include "tests/base/temporary_folder.h"
#include "tests/toolchain/child_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <fstream>

namespace samite {
namespace {

using testing::HasSubstr;

TEST(UserLines, PrecedeEachLineOfTheText) {
  codegen::EmittedSource emitted;
  emitted.text = "void f() {\n  a;\n#define B \\\n  b\n}\n";
  const SourceLocation first("user.cpp", 7), second("a \"b\"\\c.cpp", 9);
  emitted.lines = {{}, first, second, second, {}};
  EXPECT_EQ(jit::with_user_lines(emitted),
            "#line 7 \"user.cpp\"\nvoid f() {\n"
            "#line 7 \"user.cpp\"\n  a;\n"
            "#line 9 \"a \\\"b\\\"\\\\c.cpp\"\n#define B \\\n"
            "  b\n"
            "#line 9 \"a \\\"b\\\"\\\\c.cpp\"\n}\n");
}

TEST(UserLines, AreLeftOutWhereNoneIsKnown) {
  codegen::EmittedSource emitted;
  emitted.text = "a;\nb;\n";
  emitted.lines.resize(2);
  EXPECT_EQ(jit::with_user_lines(emitted), emitted.text);
}

// The number of the first line of a file that has the words.
int line_of(const std::string &file, const std::string &words) {
  std::ifstream stream(file);
  std::string line;
  for (int number = 1; std::getline(stream, line); ++number)
    if (line.find(words) != std::string::npos) return number;
  return 0;
}

TEST(UserLines, ADebuggerStopsInAKernelsLine) {
  constexpr const char *debugger = "/usr/bin/gdb";
  if (access(debugger, X_OK) != 0) GTEST_SKIP() << "there is no " << debugger;
  const test::TemporaryFolder folder;
  const std::string source = SAMITE_SOURCE_DIR "/tests/jit/programs/falling.cpp";
  const std::string line = std::to_string(line_of(source, "// stops here"));
  test::ChildProcess gdb(debugger,
                         {"-nx",
                          "-q",
                          "-batch",  //
                          "-ex",
                          "set debuginfod enabled off",  //
                          "-ex",
                          "set breakpoint pending on",  //
                          "-ex",
                          "set auto-load off",  //
                          "-ex",
                          "break falling.cpp:" + line,  //
                          "-ex",
                          "run",  //
                          "-ex",
                          "backtrace 1",  //
                          "-ex",
                          "delete",  //
                          "-ex",
                          "continue",  //
                          std::string(SAMITE_TEST_PROGRAMS) + "/falling"},
                         {{"SAMITE_CACHE_DIR", folder.path() / "cache"}, {"SAMITE_DEBUG_INFO", "1"}});
  gdb.wait();
  EXPECT_THAT(gdb.output(), HasSubstr("falling.cpp:" + line + "\n"));
  EXPECT_THAT(gdb.output(), HasSubstr("// stops here"));  // gdb shows the line
  EXPECT_THAT(gdb.output(), HasSubstr("height 0.5"));
}

}  // namespace
}  // namespace samite
