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

constexpr const char *debugger = "/usr/bin/gdb";

TEST(Debugger, StopsInAKernelAndShowsItsCallers) {
  if (access(debugger, X_OK) != 0) GTEST_SKIP() << "there is no " << debugger;
  const test::TemporaryFolder folder;
  test::ChildProcess gdb(debugger,
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

}  // namespace
}  // namespace samite
