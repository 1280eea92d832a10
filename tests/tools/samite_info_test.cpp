// samite-info's output for machines simulated by fakes of the CUDA driver and of NVIDIA's compilers.
#include "tests/base/temporary_folder.h"
#include "tests/toolchain/child_process.h"

#include <dlfcn.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <filesystem>
#include <sstream>

namespace samite {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;
using testing::SizeIs;

class SamiteInfo : public testing::Test {
 protected:
  SamiteInfo() { fs::create_directory(folder_.path() / "libraries"); }

  void have_driver() { copy(SAMITE_FAKE_CUDA, "libcuda.so.1"); }
  void have_compiler() { copy(SAMITE_FAKE_NVRTC, "libnvrtc.so.12"); }

  std::string run(std::vector<std::string> arguments = {}, test::ChildProcess::Environment more = {}) {
    more.emplace_back("LD_LIBRARY_PATH", folder_.path() / "libraries");
    more.emplace_back("SAMITE_CUDA_PATH", folder_.path() / "libraries");
    more.emplace_back("SAMITE_CACHE_DIR", folder_.path() / "cache");
    more.emplace_back("SAMITE_FAKE_NVRTC_ARCHITECTURE", "90");
    test::ChildProcess child(SAMITE_INFO, std::move(arguments), more);
    EXPECT_EQ(child.wait(), 0) << child.output();
    return child.output();
  }
  std::string library(const std::string &name) const { return fs::canonical(folder_.path() / "libraries" / name); }

  test::TemporaryFolder folder_;

 private:
  void copy(const char *from, const std::string &name) { fs::copy_file(from, folder_.path() / "libraries" / name); }
};

// The lines after "Missing:".
std::vector<std::string> missing(const std::string &output) {
  std::istringstream lines(output);
  std::vector<std::string> found;
  bool after = false;
  for (std::string line; std::getline(lines, line);) {
    if (after) found.push_back(line);
    after = after || line == "Missing:";
  }
  return found;
}

TEST_F(SamiteInfo, ListsWhatIsThere) {
  have_driver();
  have_compiler();
  const std::string output = run({}, {{"SAMITE_FAKE_CUDA_DEVICES", "2"}});
  EXPECT_THAT(output, ContainsRegex("samite [0-9]+\\.[0-9]+\\.[0-9]+\n"));
  EXPECT_THAT(output, ContainsRegex("\ncpu  .*, vectors of (16|32|64) bytes\n"));
  EXPECT_THAT(output, ContainsRegex("\nCPU compiler  .*libsamite_clang.so\n"));
  EXPECT_THAT(output, ContainsRegex("\nCUDA driver   for CUDA 12.4\n"));
  EXPECT_THAT(output, ContainsRegex("\ncuda:0        Fake GPU, compute capability 9.0.*\ncuda:1 "));
  EXPECT_THAT(output, HasSubstr("\nNVRTC         12.4, " + library("libnvrtc.so.12") + "\n"));
  EXPECT_THAT(output, HasSubstr("\nkernel cache  " + (folder_.path() / "cache").string() +
                                ": 0 entries, 0.0 MB of at most 1024 MB\n"));
  EXPECT_THAT(output, Not(HasSubstr("Missing")));
}

TEST_F(SamiteInfo, SaysThatKernelsHaveNotBeenRunOnSuchAGpu) {
  have_driver();
  have_compiler();
  EXPECT_THAT(run(), Not(HasSubstr("have not been run")));
  const std::string output =
      run({}, {{"SAMITE_FAKE_CUDA_CAPABILITY", "100"}, {"SAMITE_FAKE_NVRTC_ARCHITECTURE", "100"}});
  EXPECT_THAT(output, ContainsRegex("cuda:0 .*compute capability 10.0.*; kernels for sm_100a compile, but have not "
                                    "been run\n"));
}

TEST_F(SamiteInfo, SaysInALineEachWhatIsMissingAndWhatItTakes) {
  if (void *driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL)) {
    dlclose(driver);
    GTEST_SKIP() << "this machine has a CUDA driver";
  }
  const std::vector<std::string> lines = missing(run({}, {{"SAMITE_CLANG_PLUGIN", "/nonexistent/plugin.so"}}));
  ASSERT_THAT(lines, SizeIs(3));
  EXPECT_THAT(lines[0], AllOf(HasSubstr("CPU compiler: "), HasSubstr("set SAMITE_CLANG_PLUGIN")));
  EXPECT_THAT(lines[1], AllOf(HasSubstr("CUDA driver: no CUDA driver: "),
                              HasSubstr("No such file or directory. The NVIDIA driver's package provides")));
  EXPECT_THAT(lines[2], AllOf(HasSubstr("NVRTC: "), HasSubstr("pip install")));
}

TEST_F(SamiteInfo, SaysThatADriverSeesNoGpu) {
  have_driver();
  have_compiler();
  const std::vector<std::string> lines = missing(run({}, {{"SAMITE_FAKE_CUDA_DEVICES", "0"}}));
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_THAT(lines[0], AllOf(HasSubstr("CUDA_ERROR_NO_DEVICE"), HasSubstr("check nvidia-smi")));
}

TEST_F(SamiteInfo, SaysThatTheDriverIsTooOldForTheCompiler) {
  have_driver();
  have_compiler();
  const std::vector<std::string> lines = missing(run({}, {{"SAMITE_FAKE_NVRTC", "13.0"}}));
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_THAT(lines[0], HasSubstr("makes code for drivers of CUDA 13, and the driver here is for CUDA 12.4"));
}

TEST_F(SamiteInfo, SaysThatTheCompilerDoesNotKnowTheDevice) {
  have_driver();
  have_compiler();
  const std::vector<std::string> lines = missing(run({}, {{"SAMITE_FAKE_NVRTC_ARCHITECTURE", "80"}}));
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_THAT(lines[0], HasSubstr("compiling for sm_90 failed: NVRTC 12.4 of"));
}

TEST_F(SamiteInfo, SaysWhatIsWrongWithTheEnvironment) {
  have_driver();
  have_compiler();
  const std::vector<std::string> lines =
      missing(run({}, {{"SAMITE_CACHE_LIMIT_MB", "much"}, {"SAMITE_CPU_VECTOR_BYTES", "17"}}));
  ASSERT_THAT(lines, SizeIs(2));
  EXPECT_THAT(lines[0], HasSubstr("cpu: SAMITE_CPU_VECTOR_BYTES"));
  EXPECT_THAT(lines[1], HasSubstr("kernel cache: SAMITE_CACHE_LIMIT_MB is \"much\""));
}

TEST_F(SamiteInfo, SaysWhyACacheIsNotUsed) {
  have_driver();
  have_compiler();
  fs::create_directory(folder_.path() / "cache");
  fs::permissions(folder_.path() / "cache", fs::perms::all);
  const std::vector<std::string> lines = missing(run());
  ASSERT_THAT(lines, SizeIs(1));
  EXPECT_THAT(lines[0], HasSubstr("kernel cache: not used: others may write to its folder"));
  EXPECT_THAT(lines[0], HasSubstr("chmod go-w"));
}

TEST_F(SamiteInfo, PrintsJson) {
  have_driver();
  const nlohmann::json output = nlohmann::json::parse(run({"--json"}));
  EXPECT_TRUE(output.at("samite").is_string());
  std::map<std::string, nlohmann::json> rows;
  for (const nlohmann::json &row : output.at("findings")) rows[row.at("what")] = row;
  EXPECT_EQ(rows.at("CUDA driver").at("found"), "for CUDA 12.4");
  EXPECT_FALSE(rows.at("CUDA driver").contains("missing"));
  EXPECT_FALSE(rows.at("NVRTC").contains("found"));
  EXPECT_THAT(rows.at("NVRTC").at("missing").get<std::string>(), HasSubstr("opening NVRTC failed"));
}

}  // namespace
}  // namespace samite
