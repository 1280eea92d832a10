// The messages for an NVRTC that is missing, too old or broken, tested with a library that only reports a version. Each
// case is a separate process, because an opened library stays.
#include "tests/base/temporary_folder.h"
#include "tests/toolchain/child_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace samite {
namespace {

namespace fs = std::filesystem;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

class NvrtcLibrary : public testing::Test {
 protected:
  void have_nvrtc(const std::string &name = "libnvrtc.so.12") { copy(SAMITE_FAKE_NVRTC, name); }

  std::string run(std::vector<std::string> arguments, test::ChildProcess::Environment more = {}, int status = 0) {
    more.emplace_back("SAMITE_CUDA_PATH", folder_.path());
    more.emplace_back("SAMITE_CACHE_DIR", folder_.path() / "cache");
    test::ChildProcess child("compile_cuda_sample", std::move(arguments), more);
    EXPECT_EQ(child.wait(), status) << child.output();
    return child.output();
  }
  std::string file(const std::string &name) const { return fs::canonical(folder_.path()) / name; }

 private:
  void copy(const char *from, const std::string &name) { fs::copy_file(from, folder_.path() / name); }

  test::TemporaryFolder folder_;
};

TEST_F(NvrtcLibrary, IsReportedWithPathAndVersion) {
  have_nvrtc();
  EXPECT_EQ(run({"library"}), "NVRTC 12.4 " + file("libnvrtc.so.12") + "\n");
}

TEST_F(NvrtcLibrary, WithoutNvrtcNothingCompiles) {
  const std::string output = run({"1."}, {}, 1);
  EXPECT_THAT(output,
              AllOf(HasSubstr("opening NVRTC failed: there is no libnvrtc.so.12 or .13 in "),
                    HasSubstr("which SAMITE_CUDA_PATH names"), HasSubstr("pip install nvidia-cuda-nvrtc-cu12")));
}

TEST_F(NvrtcLibrary, NvrtcOfAnOldToolkitIsNamed) {
  have_nvrtc();
  const std::string output = run({"1."}, {{"SAMITE_FAKE_NVRTC", "12.3"}}, 1);
  EXPECT_THAT(output, HasSubstr("none that was found can be used:\n  " + file("libnvrtc.so.12") +
                                " is NVRTC 12.3, and Samite needs 12.4 or newer"));
  EXPECT_THAT(output, HasSubstr("set SAMITE_CUDA_PATH"));
}

TEST_F(NvrtcLibrary, NvrtcWithoutItsFunctionsIsNamed) {
  fs::copy_file(SAMITE_FAKE_CUDA, file("libnvrtc.so.12"));
  EXPECT_THAT(run({"library"}, {}, 1), HasSubstr("dlsym(\"" + file("libnvrtc.so.12") + "\", \"nvrtcVersion\") failed"));
}

TEST_F(NvrtcLibrary, AFileThatIsNoLibraryIsPassedOver) {
  have_nvrtc();
  fs::copy_file(fs::path(SAMITE_SOURCE_DIR) / "LICENSE", file("libnvrtc.so.13"));
  EXPECT_THAT(run({"library"}), HasSubstr("NVRTC 12.4 " + file("libnvrtc.so.12")));
  fs::remove(file("libnvrtc.so.12"));
  EXPECT_THAT(run({"library"}, {}, 1), HasSubstr("dlopen(\"" + file("libnvrtc.so.13") + "\") failed: "));
}

TEST_F(NvrtcLibrary, CodeForANewerDriverIsExplained) {
  have_nvrtc("libnvrtc.so.13");
  EXPECT_THAT(run({"library", "12040"}, {{"SAMITE_FAKE_NVRTC", "13.0"}}, 1),
              AllOf(HasSubstr("NVRTC 13.0 of " + file("libnvrtc.so.13") +
                              " makes code for drivers of CUDA 13, and the "
                              "driver here is for CUDA 12.4. Update the NVIDIA driver, or install"),
                    HasSubstr("SAMITE_CUDA_PATH")));
}

TEST_F(NvrtcLibrary, ADriverOfTheSameOrANewerMajorVersionWillDo) {
  have_nvrtc();
  for (const char *driver : {"12040", "12090", "13000"})
    EXPECT_THAT(run({"library", driver}, {{"SAMITE_FAKE_NVRTC", "12.9"}}), Not(HasSubstr("error")));
}

TEST_F(NvrtcLibrary, AnArchitectureThatNvrtcDoesNotKnowIsRefusedWithThoseItDoes) {
  have_nvrtc();
  EXPECT_THAT(run({"1.", "sm_100a"}, {}, 1), AllOf(HasSubstr("compiling for sm_100a failed: NVRTC 12.4 of"),
                                                   HasSubstr("compiles for sm_80."), HasSubstr("SAMITE_CUDA_PATH")));
}

TEST_F(NvrtcLibrary, ACallThatFailsWhenALibraryIsOpenedIsNamed) {
  have_nvrtc();
  const char *calls[] = {"nvrtcVersion", "nvrtcGetNumSupportedArchs", "nvrtcGetSupportedArchs"};
  for (int number = 1; number <= 3; ++number)
    EXPECT_THAT(run({"1."}, {{"SAMITE_FAKE_NVRTC_FAIL", std::to_string(number) + " 11"}}, 1),
                HasSubstr(std::string(calls[number - 1]) + " of " + file("libnvrtc.so.12") + " failed: result 11"));
}

TEST_F(NvrtcLibrary, AMissingSecondFileOfNvrtcIsExplained) {
  have_nvrtc();
  EXPECT_THAT(run({"1."}, {{"SAMITE_FAKE_NVRTC_RESULT", "7"}}, 1),
              HasSubstr("the fake's words\nThe file libnvrtc-builtins.so of the same version must lie beside"));
}

TEST_F(NvrtcLibrary, AnyOtherFailureOfNvrtcIsADeviceErrorWithTheOptions) {
  have_nvrtc();
  EXPECT_THAT(run({"1."}, {{"SAMITE_FAKE_NVRTC_RESULT", "5"}}, 1),
              AllOf(HasSubstr("nvrtcCompileProgram(\"add.cu\", \"-std=c++20"), HasSubstr("-arch=sm_80\") failed: "),
                    HasSubstr("NVRTC_ERROR_FAKE: the fake's words")));
}

}  // namespace
}  // namespace samite
