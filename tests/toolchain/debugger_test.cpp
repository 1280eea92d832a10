// A debugger stops in a compiled kernel. It opens each image that the process has loaded by the image's path, so a path
// that means something else to the debugger makes it fail or hang.
#include "tests/base/temporary_folder.h"
#include "tests/toolchain/child_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

namespace samite {
namespace {

using testing::HasSubstr;

constexpr const char *gnu_debugger = "/usr/bin/gdb";
constexpr const char *llvm_debugger = "/usr/bin/lldb-22";

TEST(Debugger, StopsInAKernelAndShowsItsCallers) {
  if (access(gnu_debugger, X_OK) != 0) GTEST_SKIP() << "there is no " << gnu_debugger;
  const test::TemporaryFolder folder;
  test::ChildProcess gdb(gnu_debugger,
                         {"-nx", "-q", "-batch",                //
                          "-ex", "set debuginfod enabled off",  //
                          "-ex", "set breakpoint pending on",   //
                          "-ex", "set auto-load off",           //
                          "-ex", "break -qualified add",        //
                          "-ex", "run",                         //
                          "-ex", "backtrace",                   //
                          "-ex", "continue",                    //
                          std::string(SAMITE_TEST_PROGRAMS) + "/compile_sample"},
                         {{"SAMITE_CACHE_DIR", folder.path() / "cache"}});
  gdb.wait();
  EXPECT_THAT(gdb.output(), HasSubstr("Breakpoint 1, "));
  EXPECT_THAT(gdb.output(), HasSubstr("in add () from /proc/"));
  EXPECT_THAT(gdb.output(), HasSubstr("in main ()"));
  EXPECT_THAT(gdb.output(), HasSubstr("sum 65"));
}

// `add` by its whole name, since the library has many functions of that name in classes.
TEST(Debugger, OfLlvmStopsInAKernelAndShowsItsCallers) {
  if (access(llvm_debugger, X_OK) != 0) GTEST_SKIP() << "there is no " << llvm_debugger;
  const test::TemporaryFolder folder;
  test::ChildProcess lldb(llvm_debugger,
                          {"--no-lldbinit", "--batch",                                         //
                           "--one-line", "settings set symbols.enable-external-lookup false",  //
                           "--one-line", "breakpoint set --fullname add",                      //
                           "--one-line", "run",                                                //
                           "--one-line", "thread backtrace",                                   //
                           "--one-line", "continue",                                           //
                           std::string(SAMITE_TEST_PROGRAMS) + "/compile_sample"},
                          {{"SAMITE_CACHE_DIR", folder.path() / "cache"}});
  lldb.wait();
  EXPECT_THAT(lldb.output(), HasSubstr("1 location added to breakpoint 1"));
  EXPECT_THAT(lldb.output(), HasSubstr("stop reason = breakpoint 1.1"));
  EXPECT_THAT(lldb.output(), HasSubstr("`add\n"));
  EXPECT_THAT(lldb.output(), HasSubstr("`main + "));
  EXPECT_THAT(lldb.output(), HasSubstr("sum 65"));
}

}  // namespace
}  // namespace samite
