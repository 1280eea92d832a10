// The files of SAMITE_DUMP: the steps in order, each as the next one reads it.
#include "samite/base/warning.h"
#include "samite/ir/parse.h"
#include "samite/ir/print.h"
#include "samite/samite.h"
#include "tests/base/temporary_folder.h"
#include "tests/runtime/test_device.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <sstream>

namespace samite::test {
namespace {

namespace fs = std::filesystem;
using testing::ElementsAre;
using testing::HasSubstr;

struct DumpInto {
  explicit DumpInto(const fs::path &folder) { setenv("SAMITE_DUMP", folder.c_str(), 1); }
  ~DumpInto() { unsetenv("SAMITE_DUMP"); }
};

std::string text_of(const fs::path &path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

std::vector<fs::path> files_in(const fs::path &folder) {
  std::vector<fs::path> files;
  for (const auto &entry : fs::directory_iterator(folder)) files.push_back(entry.path());
  std::ranges::sort(files);
  return files;
}

const int unlike_any_other = 3141593;  // a kernel that no other test has compiled

TEST(Dump, HasAFileForEachStep) {
  SAMITE_ON_THE_CPU();
  const TemporaryFolder temporary;
  const fs::path folder = temporary.path() / "a" / "b";
  Buffer<float> x(Device::cpu(), {4});
  {
    const DumpInto into(folder);
    const Kernel scale{"scale", [](Array<float, 1> values) { values(thread_index()) *= unlike_any_other; }};
    scale.launch({4}, x);
  }
  std::vector<std::string> steps;
  for (const fs::path &file : files_in(folder)) steps.push_back(file.filename().string().substr(6));
  EXPECT_THAT(steps, ElementsAre("scale-capture.ir", "scale-number_iterations.ir", "scale-structure_jumps.ir",
                                 "scale-expand_adjoint_calls.ir", "scale-promote.ir", "scale-simplify.ir",
                                 "scale-widen_tile_origins.ir", "scale-lower_tiles.ir", "scale-lower_threads.ir",
                                 "scale-plain_thread_loops.ir", "scale-place_arrays.ir", "scale-scalar_instances.ir",
                                 "scale-interchange.ir", "scale-clamped_edges.ir", "scale-sum_over_lanes.ir",
                                 "scale-emit.cpp", "scale-link.so"));
  const auto files = files_in(folder);
  EXPECT_THAT(text_of(files.front()), HasSubstr("kernel @scale("));
  EXPECT_EQ(to_string(ir::parse_kernel(text_of(files[5]))), text_of(files[5]));
  EXPECT_THAT(text_of(files[15]), HasSubstr("3141593"));
  EXPECT_EQ(text_of(files[16]).substr(1, 3), "ELF");
}

TEST(Dump, WhereTheFolderCannotBeMadeIsAWarning) {
  const TemporaryFolder temporary;
  const fs::path file = temporary.path() / "file";
  std::ofstream(file) << "no folder";
  std::string warned;
  WarningSink before = set_warning_sink([&](std::string_view text) { warned += text; });
  {
    const DumpInto into(file);
    const Kernel scale{"scale", [](Array<float, 1> values) { values(thread_index()) *= 2; }};
    Buffer<float> x(test::device(), {1}, {3});
    scale.launch({1}, x);
    EXPECT_EQ(x.to_vector()[0], 6);
  }
  set_warning_sink(std::move(before));
  EXPECT_THAT(warned, HasSubstr("SAMITE_DUMP: "));
}

}  // namespace
}  // namespace samite::test
