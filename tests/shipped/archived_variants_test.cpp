// The launches that an archive serves, which others recorded. Each side is a process of its own.
#include "samite/toolchain/image_archive.h"

#include "samite/base/atomic_file.h"
#include "samite/shipped/launch_form.h"
#include "tests/base/temporary_folder.h"
#include "tests/toolchain/child_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

namespace samite {
namespace {

using testing::Contains;
using testing::HasSubstr;

class ArchivedVariants : public testing::Test {
 protected:
  void SetUp() override {
#ifndef __x86_64__
    GTEST_SKIP() << "archives are for levels of x86-64";
#endif
  }

  std::string run(std::vector<std::string> arguments, test::ChildProcess::Environment environment, int expected) {
    environment.emplace_back("SAMITE_CACHE_DIR", (folder_.path() / "cache").string());
    test::ChildProcess child("sum_squares", std::move(arguments), environment);
    EXPECT_EQ(child.wait(), expected) << child.output();
    return child.output();
  }
  void record(std::vector<std::string> arguments, const std::string &targets = "x86-64-v2",
              test::ChildProcess::Environment more = {}) {
    more.insert(more.end(), {{"SAMITE_AOT_RECORD", archive_}, {"SAMITE_AOT_TARGETS", targets}});
    run(std::move(arguments), more, 0);
  }
  std::string launch(std::vector<std::string> arguments, int expected = 0) {
    return run(std::move(arguments),
               {{"SAMITE_AOT_ARCHIVES", archive_}, {"SAMITE_AOT", "strict"}, {"SAMITE_CACHE_LIMIT_MB", "0"}}, expected);
  }
  ImageArchive archive() const { return {archive_, read_file(archive_)}; }

  test::TemporaryFolder folder_;
  std::string archive_ = (folder_.path() / "kernels.samite").string();
};

// If each thread may sum privately, the extents decide: few instances do not.
TEST_F(ArchivedVariants, OfASmallLaunchServeALargeOne) {
  record({"launch", "4", "1"});
  EXPECT_EQ(launch({"launch", "1000000", "1"}), "sum 4e+06\ngradient 12\ncompiles 0\n");
}

TEST_F(ArchivedVariants, OfALargeLaunchServeASmallOne) {
  record({"launch", "1000000", "1"});
  EXPECT_EQ(launch({"launch", "3", "1"}), "sum 12\ngradient 12\ncompiles 0\n");
}

TEST_F(ArchivedVariants, DoNotServeWhatTheyDoNotPromise) {
  record({"launch", "8", "1"});
  const std::string output = launch({"forward", "8", "2"}, 1);
  EXPECT_THAT(output, HasSubstr("kernel 'squares' (forward; sums contiguous"));
  EXPECT_THAT(output, HasSubstr("of this kernel they have\n  forward; sums, x contiguous"));
  EXPECT_THAT(output, HasSubstr("To add it, let the program of samite_add_kernels("));
}

TEST_F(ArchivedVariants, MayBeNamedWithoutALaunch) {
  record({"name"});
  EXPECT_EQ(launch({"launch", "6", "2"}), "sum 24\ngradient 12\ncompiles 0\n");
  EXPECT_EQ(launch({"launch", "6", "1"}), "sum 24\ngradient 12\ncompiles 0\n")
      << "any strides are contiguous ones, too";
}

TEST_F(ArchivedVariants, OfAdjointsByNameNeedTheKernelAlone) {
  record({"construct"}, "x86-64-v2", {{"SAMITE_AOT_ADJOINTS", "squares(sums,x) "}});
  EXPECT_EQ(launch({"launch", "6", "1"}), "sum 24\ngradient 12\ncompiles 0\n");
}

TEST_F(ArchivedVariants, OfAdjointsByNameThatAreNotThereEndTheRun) {
  const auto refused = [&](const std::string &names) {
    return run({"construct"},
               {{"SAMITE_AOT_RECORD", archive_}, {"SAMITE_AOT_TARGETS", "x86-64-v2"}, {"SAMITE_AOT_ADJOINTS", names}},
               1);
  };
  EXPECT_THAT(refused("cubes(sums)"), HasSubstr("SAMITE_AOT_ADJOINTS names cubes(sums), but the program constructs no "
                                                "kernel of that name; its kernels are: squares"));
  const std::string argument = refused("squares(sums,y)");
  EXPECT_THAT(argument, HasSubstr("kernel 'squares' has no array 'y'"));
  EXPECT_THAT(argument, HasSubstr("SAMITE_AOT_ADJOINTS names squares(sums,y)"));
  for (const char *malformed : {"squares", "squares()", "squares(sums,)", "(sums)", "squares(sums"})
    EXPECT_THAT(refused(malformed), HasSubstr("as in scale(y,x)")) << malformed;
}

TEST_F(ArchivedVariants, ForCudaNeedNoDevice) {
  const char *toolchain = std::getenv("SAMITE_CUDA_PATH");
  if (!toolchain) GTEST_SKIP() << "no NVRTC";
  record({"launch", "8", "1"}, "x86-64-v2 sm_80,sm_90a compute_80");
  std::set<std::string> images, launches;
  const ImageArchive made = archive();
  for (const ImageArchive::Entry &entry : made.entries()) {
    const bool is_cuda = !entry.target.starts_with("x86");
    if (is_cuda && entry.kind == ArchivedKind::image)
      images.insert(entry.target + " " + entry.kernel + " " + entry.variant);
    if (is_cuda && entry.kind == ArchivedKind::launch) launches.insert(entry.target + " " + entry.variant);
    if (is_cuda && entry.kind == ArchivedKind::launch) EXPECT_TRUE(shipped::form_from(entry.content));
  }
  for (const char *target : {"sm_80", "sm_90a", "compute_80"}) {
    const std::string forward = "forward; sums, x contiguous", adjoint = "adjoint of sums, x; sums, x contiguous";
    EXPECT_THAT(images, Contains(std::string(target) + " squares " + forward)) << "conservative";
    EXPECT_THAT(images, Contains(std::string(target) + " squares_adjoint " + adjoint));
    EXPECT_THAT(launches, Contains(std::string(target) + " " + forward));
    EXPECT_THAT(launches, Contains(std::string(target) + " " + adjoint));
  }
}

TEST_F(ArchivedVariants, ForCudaMayRelyOnWhatIsAssumed) {
  const char *toolchain = std::getenv("SAMITE_CUDA_PATH");
  if (!toolchain) GTEST_SKIP() << "no NVRTC";
  record({"forward", "8", "1"}, "sm_80", {{"SAMITE_AOT_ASSUME", "aligned apart large"}});
  std::set<std::string> variants;
  const ImageArchive made = archive();
  for (const ImageArchive::Entry &entry : made.entries())
    if (entry.kind == ArchivedKind::image) variants.insert(entry.variant);
  EXPECT_THAT(variants,
              testing::UnorderedElementsAre(
                  "forward; sums, x contiguous",
                  "forward; sums, x contiguous; sums, x apart; sums, x aligned; up to 8 neighbours a thread"));
}

TEST_F(ArchivedVariants, AreRefusedForTargetsAndAssumptionsThatAreNone) {
  EXPECT_THAT(run({"forward", "8", "1"}, {{"SAMITE_AOT_RECORD", archive_}, {"SAMITE_AOT_TARGETS", "sm_90b"}}, 1),
              HasSubstr("SAMITE_AOT_TARGETS names \"sm_90b\"; it can name x86-64-v2"));
  EXPECT_THAT(run({"forward", "8", "1"},
                  {{"SAMITE_AOT_RECORD", archive_}, {"SAMITE_AOT_TARGETS", "sm_80"}, {"SAMITE_AOT_ASSUME", "luck"}}, 1),
              HasSubstr("SAMITE_AOT_ASSUME says \"luck\"; it can say aligned, apart, covering and large"));
}

}  // namespace
}  // namespace samite
