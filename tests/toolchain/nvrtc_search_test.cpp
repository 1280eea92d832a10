#include "samite/toolchain/nvrtc_search.h"

#include "samite/base/atomic_file.h"
#include "tests/base/temporary_folder.h"
#include "tests/toolchain/environment.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace samite {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::IsEmpty;

class NvrtcSearch : public testing::Test {
 protected:
  std::string make(const std::string &file) {
    const fs::path path = folder_.path() / file;
    fs::create_directories(path.parent_path());
    write_file(path, "");
    return fs::canonical(path).string();
  }
  std::string at(const std::string &place) const { return folder_.path() / place; }

  test::TemporaryFolder folder_;
  test::EnvironmentVariable none_{"SAMITE_CUDA_PATH", ""}, loader_{"LD_LIBRARY_PATH", ""}, home_{"CUDA_HOME", ""},
      cuda_{"CUDA_PATH", ""}, environment_{"VIRTUAL_ENV", ""};
};

TEST_F(NvrtcSearch, KnowsToolkitsAndPackages) {
  const std::string toolkit = make("toolkit/lib64/libnvrtc.so.12");
  const std::string package = make("packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12");
  const std::string newer_package = make("newer/nvidia/cu13/lib/libnvrtc.so.13");
  const std::string installed = make("venv/lib/python3.11/site-packages/nvidia/cuda_nvrtc/lib/libnvrtc.so.12");
  const std::string plain = make("plain/libnvrtc.so.13");
  for (const auto &[place, file] : {std::pair{"toolkit", toolkit},
                                    {"packages", package},
                                    {"newer", newer_package},
                                    {"venv", installed},
                                    {"plain", plain}}) {
    const test::EnvironmentVariable chosen("SAMITE_CUDA_PATH", at(place));
    EXPECT_THAT(nvrtc_files(), ElementsAre(file));
  }
}

TEST_F(NvrtcSearch, LooksOnlyWhereItIsTold) {
  make("loader/libnvrtc.so.12");
  const test::EnvironmentVariable loader("LD_LIBRARY_PATH", at("loader"));
  const test::EnvironmentVariable chosen("SAMITE_CUDA_PATH", at("empty"));
  EXPECT_THAT(nvrtc_files(), IsEmpty());
  EXPECT_EQ(nvrtc_places(), "in " + at("empty") + ", which SAMITE_CUDA_PATH names, and nowhere else");
}

TEST_F(NvrtcSearch, FollowsItsOrder) {
  const std::string first = make("a/libnvrtc.so.12"), second = make("b/libnvrtc.so.13");
  const std::string third = make("home/lib64/libnvrtc.so.12"), fourth = make("path/lib64/libnvrtc.so.12");
  const test::EnvironmentVariable loader("LD_LIBRARY_PATH", at("a") + "::" + at("b"));
  const test::EnvironmentVariable home("CUDA_HOME", at("home")), path("CUDA_PATH", at("path"));
  std::vector<std::string> files = nvrtc_files();
  ASSERT_GE(files.size(), 7u);
  EXPECT_EQ(files.back(), "libnvrtc.so.11.2") << "the loader comes last";
  files.resize(4);
  EXPECT_THAT(files, ElementsAre(first, second, third, fourth));
}

TEST_F(NvrtcSearch, TakesTheNewestOfAFolderAndEachFileOnce) {
  const std::string older = make("lib/libnvrtc.so.12"), newer = make("lib/libnvrtc.so.13");
  const std::string oldest = make("lib/libnvrtc.so.11.2");
  fs::create_directory_symlink(folder_.path() / "lib", folder_.path() / "lib64");
  const test::EnvironmentVariable chosen("SAMITE_CUDA_PATH", folder_.path());
  EXPECT_THAT(nvrtc_files(), ElementsAre(newer, older, oldest));
}

}  // namespace
}  // namespace samite
