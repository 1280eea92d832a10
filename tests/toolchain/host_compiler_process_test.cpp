// The compiler as seen from one process after another, and without its plug-in.
#include "samite/base/atomic_file.h"
#include "samite/toolchain/clang_plugin_loader.h"
#include "tests/base/temporary_folder.h"
#include "tests/toolchain/child_process.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>
#include <sstream>

namespace samite {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using testing::Not;

class HostCompilerProcess : public testing::Test {
 protected:
  std::string run(std::vector<std::string> arguments, test::ChildProcess::Environment more = {},
                  int expected_status = 0, const char *program = "compile_sample") {
    more.emplace_back("SAMITE_CACHE_DIR", folder_.path() / "cache");
    test::ChildProcess child(program, std::move(arguments), more);
    EXPECT_EQ(child.wait(), expected_status) << child.output();
    return child.output();
  }

  test::TemporaryFolder folder_;
};

double number_after(const std::string &output, const std::string &name) {
  std::istringstream lines(output);
  for (std::string word; lines >> word;)
    if (double value = 0; word == name && lines >> value) return value;
  ADD_FAILURE() << "no " << name << " in: " << output;
  return 0;
}

TEST_F(HostCompilerProcess, ANewProcessLoadsFromTheCacheWithoutTheCompiler) {
  const std::string first = run({"1."});
  EXPECT_THAT(first, HasSubstr("sum 65\nfrom_cache 0\nprelude_was_precompiled 0\ncompiler_loaded 1\ncompiles 1\n"));
  const std::string second = run({"1."});
  EXPECT_THAT(second, HasSubstr("sum 65\nfrom_cache 1\nprelude_was_precompiled 1\ncompiler_loaded 0\ncompiles 0\n"));
  EXPECT_LT(number_after(second, "milliseconds"), 5 * 10) << "far above the usual, for machines under load";
}

TEST_F(HostCompilerProcess, ANewProcessDoesNotParseThePreludeAgain) {
  run({"1."});
  EXPECT_THAT(run({"2."}), HasSubstr("sum 75\nfrom_cache 0\nprelude_was_precompiled 1\n"));
}

TEST_F(HostCompilerProcess, ANewProcessCompilesTheEditedKernelAlone) {
  const auto edited = [&](const char *amount) { return run({amount}, {}, 0, "compile_caller"); };
  EXPECT_THAT(edited("1."), HasSubstr("value 5\ncompiles 2\nobject_from_disk 0\n"));
  EXPECT_THAT(edited("2."), HasSubstr("value 6\ncompiles 1\nobject_from_disk 1\n"));
  EXPECT_THAT(edited("2."), HasSubstr("value 6\ncompiles 0\n"));
}

TEST_F(HostCompilerProcess, ADamagedImageIsCompiledAgain) {
  run({"1."});
  for (const auto &entry : fs::directory_iterator(folder_.path() / "cache" / "objects")) {
    std::string bytes = read_file(entry.path() / "content");
    bytes[bytes.size() / 2] ^= 0x10;
    write_file(entry.path() / "content", bytes);
  }
  const std::string output = run({"1."});
  EXPECT_THAT(output, HasSubstr("sum 65\nfrom_cache 0\n"));
  EXPECT_THAT(output, HasSubstr("damaged"));
  EXPECT_THAT(run({"1."}), HasSubstr("sum 65\nfrom_cache 1\n"));
}

TEST_F(HostCompilerProcess, AFullDiskCostsTheCacheAndNothingElse) {
  // Room for an image, which the linker and loader need, but not for the precompiled prelude.
  const std::string output = run({"1.", "65536"});
  EXPECT_THAT(output, HasSubstr("sum 65\n"));
  EXPECT_THAT(output, HasSubstr("warning the kernel cache is not used: cannot write"));
  EXPECT_THAT(output, HasSubstr("File too large"));
  EXPECT_THAT(output, HasSubstr("Free some space"));
}

TEST_F(HostCompilerProcess, SeveralAtOnceShareOneCache) {
  std::vector<std::unique_ptr<test::ChildProcess>> children;
  for (int i = 0; i < 4; ++i)
    children.push_back(std::make_unique<test::ChildProcess>(
        "compile_sample", std::vector<std::string>{std::to_string(i / 2) + "."},
        test::ChildProcess::Environment{{"SAMITE_CACHE_DIR", folder_.path() / "cache"}}));
  for (int i = 0; i < 4; ++i) {
    EXPECT_EQ(children[i]->wait(), 0) << children[i]->output();
    EXPECT_THAT(children[i]->output(), HasSubstr("sum " + std::to_string(55 + 10 * (i / 2)) + "\n"));
    EXPECT_THAT(children[i]->output(), Not(HasSubstr("warning")));
  }
  EXPECT_THAT(run({"1."}), HasSubstr("from_cache 1\n"));
}

TEST_F(HostCompilerProcess, AMissingPluginIsNamedWithTheRemedy) {
  const std::string output = run({"1."}, {{"SAMITE_CLANG_PLUGIN", "/nonexistent/libsamite_clang.so"}}, 1);
  EXPECT_THAT(output, HasSubstr("opening the CPU compiler plug-in failed: no file at /nonexistent/libsamite_clang.so"));
  EXPECT_THAT(output, HasSubstr("set SAMITE_CLANG_PLUGIN"));
}

// The plug-in's own file, asking for an LLVM that no machine has.
TEST_F(HostCompilerProcess, AMissingCompilerLibraryIsNamedWithItsPackage) {
  Dl_info info{};
  ASSERT_NE(dladdr(reinterpret_cast<const void *>(clang_plugin().compile), &info), 0);
  std::string bytes = read_file(info.dli_fname);
  const std::string wanted = "libclang-cpp.so.22.1", absent = "libclang-cpp.so.XX.X";
  const std::size_t at = bytes.find(wanted);
  ASSERT_NE(at, std::string::npos);
  bytes.replace(at, wanted.size(), absent);
  write_file(folder_.path() / "plugin.so", bytes);
  const std::string output = run({"1."}, {{"SAMITE_CLANG_PLUGIN", folder_.path() / "plugin.so"}}, 1);
  EXPECT_THAT(output, HasSubstr(absent + ": cannot open shared object file"));
  EXPECT_THAT(output, HasSubstr("apt-get install libclang-cpp22"));
}

// Its code would be kept under the keys of this library's own plug-in.
TEST_F(HostCompilerProcess, APluginOfOtherSourcesIsRefused) {
  Dl_info info{};
  ASSERT_NE(dladdr(reinterpret_cast<const void *>(clang_plugin().compile), &info), 0);
  std::string bytes = read_file(info.dli_fname);
  const std::string hash = clang_plugin().sources;
  const std::size_t at = bytes.find(hash);
  ASSERT_NE(at, std::string::npos);
  bytes.replace(at, hash.size(), std::string(hash.size(), '0'));
  write_file(folder_.path() / "plugin.so", bytes);
  const std::string output = run({"1."}, {{"SAMITE_CLANG_PLUGIN", folder_.path() / "plugin.so"}}, 1);
  EXPECT_THAT(output, HasSubstr("plugin.so was built from other sources than this library"));
}

}  // namespace
}  // namespace samite
