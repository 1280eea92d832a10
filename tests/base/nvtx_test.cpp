// Ranges for NVIDIA's profilers, by a library that prints them.
#include "samite/base/atomic_file.h"
#include "tests/base/temporary_folder.h"
#include "tests/toolchain/child_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace samite {
namespace {

using testing::HasSubstr;
using testing::Not;

std::string output_of_spans(std::vector<std::string> arguments, const test::ChildProcess::Environment &environment) {
  test::ChildProcess program(std::string(SAMITE_TEST_PROGRAMS) + "/traced_spans", std::move(arguments), environment);
  EXPECT_EQ(program.wait(), 0) << program.output();
  return program.output();
}

TEST(Nvtx, RangesAreNestedAsSpansAre) {
  EXPECT_EQ(output_of_spans({}, {{"SAMITE_NVTX", "1"}, {"LD_LIBRARY_PATH", SAMITE_FAKE_NVTX_FOLDER}}),
            "before {\n  inner {\n  }\n}\n");
}

TEST(Nvtx, ATraceBesideThemRecordsItsOwnSpansAlone) {
  const test::TemporaryFolder folder;
  const std::string path = folder.path() / "run.json";
  const std::string output =
      output_of_spans({path}, {{"SAMITE_NVTX", "1"}, {"LD_LIBRARY_PATH", SAMITE_FAKE_NVTX_FOLDER}});
  EXPECT_THAT(output, HasSubstr("during {\n}\nafter {\n"));
  const std::string trace = read_file(path);
  EXPECT_THAT(trace, HasSubstr("\"during\""));
  EXPECT_THAT(trace, Not(HasSubstr("\"before\"")));
  EXPECT_THAT(trace, Not(HasSubstr("\"after\"")));
}

TEST(Nvtx, IsOffUnlessItIsAskedFor) {
  EXPECT_EQ(output_of_spans({}, {{"LD_LIBRARY_PATH", SAMITE_FAKE_NVTX_FOLDER}}), "");
  EXPECT_EQ(output_of_spans({}, {{"SAMITE_NVTX", "0"}, {"LD_LIBRARY_PATH", SAMITE_FAKE_NVTX_FOLDER}}), "");
}

TEST(Nvtx, WarnsWhereTheLibraryIsMissing) {
  const std::string output = output_of_spans({}, {{"SAMITE_NVTX", "1"}});
  EXPECT_THAT(output, HasSubstr("SAMITE_NVTX: without ranges, since "));
  EXPECT_THAT(output, HasSubstr("libnvToolsExt.so.1"));
  EXPECT_THAT(output, HasSubstr("pip install nvidia-nvtx-cu12"));
}

}  // namespace
}  // namespace samite
