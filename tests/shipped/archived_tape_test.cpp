// Records and tapes of archived kernels: gradients, values that are overwritten, and every refusal.
#include "samite/shipped/archived.h"

#include "tests/base/temporary_folder.h"
#include "tests/toolchain/child_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <vector>

namespace samite {
namespace {

using archived::Argument;
using testing::ElementsAre;
using testing::HasSubstr;

// An array of doubles with its gradient.
struct Tracked {
  std::vector<double> values, gradient;

  explicit Tracked(std::vector<double> values) : values(std::move(values)), gradient(this->values.size()) {}
  std::int64_t count() const { return static_cast<std::int64_t>(values.size()); }
  Argument with() { return {values.data(), {count()}, gradient.data()}; }
  Argument without() { return {values.data(), {count()}}; }
};

class ArchivedTape : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new test::TemporaryFolder;
    archive_ = (folder_->path() / "kernels.samite").string();
    test::ChildProcess child("sum_squares", {"chain"},
                             {{"SAMITE_AOT_RECORD", archive_},
                              {"SAMITE_AOT_TARGETS", "x86-64-v2"},
                              {"SAMITE_CACHE_DIR", (folder_->path() / "cache").string()}});
    ASSERT_EQ(child.wait(), 0) << child.output();
  }
  static void TearDownTestSuite() { delete folder_; }

  void SetUp() override {
#ifndef __x86_64__
    GTEST_SKIP() << "archives are for levels of x86-64";
#endif
    archived::open(archive_);
  }

  template <class Call>
  static std::string refused(const Call &call) {
    try {
      call();
    } catch (const archived::Error &error) {
      EXPECT_EQ(error.kind(), SAMITE_USER_ERROR);
      return error.what();
    }
    return "nothing was refused";
  }

  static inline test::TemporaryFolder *folder_ = nullptr;
  static inline std::string archive_;
  archived::Tape tape_;
  Tracked x_{{1, 2, 3}}, y_{{0, 0, 0}}, z_{{0, 0, 0}};
};

TEST_F(ArchivedTape, RunsAdjointsInReverseOrder) {
  tape_.launch("square", {3}, {y_.with(), x_.with()});
  tape_.launch("square", {3}, {z_.with(), y_.with()});
  EXPECT_THAT(z_.values, ElementsAre(1, 16, 81));
  z_.gradient = {1, 1, 1};
  tape_.backward();
  EXPECT_THAT(x_.gradient, ElementsAre(4, 32, 108));
  EXPECT_THAT(z_.gradient, ElementsAre(0, 0, 0)) << "it was overwritten by the launch";
  EXPECT_EQ(tape_.kept_bytes(), 0);
  z_.gradient = {1, 0, 0};
  tape_.backward();
  EXPECT_THAT(x_.gradient, ElementsAre(8, 32, 108)) << "a second time, added";
}

TEST_F(ArchivedTape, KeepsWhatItsLaunchesOverwrite) {
  Tracked w{{5, 6, 7}};
  tape_.launch("square", {3}, {y_.with(), x_.with()});
  tape_.launch("square", {3}, {x_.with(), w.with()});
  EXPECT_THAT(x_.values, ElementsAre(25, 36, 49));
  EXPECT_EQ(tape_.kept_bytes(), 24);
  y_.gradient = {1, 1, 1};
  tape_.backward();
  EXPECT_THAT(x_.gradient, ElementsAre(2, 4, 6)) << "with respect to its values before the tape";
  EXPECT_THAT(w.gradient, ElementsAre(0, 0, 0));
}

TEST_F(ArchivedTape, KeepsWhatALaunchOverwritesItself) {
  for (int i = 0; i < 2; ++i) tape_.launch("square_in_place", {3}, {x_.with()});
  EXPECT_THAT(x_.values, ElementsAre(1, 16, 81));
  x_.gradient = {1, 1, 1};
  tape_.backward();
  EXPECT_THAT(x_.gradient, ElementsAre(4, 32, 108));
  tape_.clear();
  EXPECT_EQ(tape_.kept_bytes(), 0);
}

TEST_F(ArchivedTape, KeepsViewsInTheirLayout) {
  std::vector<double> apart{1, -1, 2, -1, 3, -1}, gradient(6);
  std::int64_t shape[] = {3}, strides[] = {2};
  DLTensor values{apart.data(), {1, 0}, 1, {2, 64, 1}, shape, strides, 0}, of_values = values;
  of_values.data = gradient.data();
  EXPECT_THAT(refused([&] { tape_.launch("square_in_place", {3}, {Argument(values, &of_values)}); }),
              HasSubstr("no variant in the open kernel archives"))
      << "they promise contiguous ones";
  std::vector<double> half{1, 2, 3, 9}, half_gradient(4);
  DLTensor part{half.data(), {1, 0}, 1, {2, 64, 1}, shape, nullptr, 8}, of_part = part;
  of_part.data = half_gradient.data();
  tape_.launch("square_in_place", {3}, {Argument(part, &of_part)});
  half_gradient = {1, 1, 1, 1};
  tape_.backward();
  EXPECT_THAT(half, ElementsAre(1, 4, 9, 81));
  EXPECT_THAT(half_gradient, ElementsAre(1, 4, 6, 18));
}

TEST_F(ArchivedTape, RefusesGradientsThatWouldBeLost) {
  tape_.launch("square", {3}, {y_.with(), x_.with()});
  EXPECT_THAT(
      refused([&] { tape_.launch("square", {3}, {z_.with(), y_.without()}); }),
      HasSubstr("kernel 'square' on a tape: argument 1 ('x') shares memory with an array of an earlier launch of "
                "'square' that has a gradient; give it that one"));
  std::vector<double> other(3);
  EXPECT_THAT(refused([&] { tape_.launch("square", {3}, {z_.with(), {y_.values.data(), {3}, other.data()}}); }),
              HasSubstr("has another gradient than that"));
  EXPECT_THAT(z_.values, ElementsAre(0, 0, 0)) << "nothing ran";
  tape_.clear();
  Tracked w{{0, 0, 0}};
  tape_.launch("split", {3}, {y_.with(), w.without(), x_.with()});
  EXPECT_THAT(refused([&] { tape_.launch("square", {3}, {z_.with(), w.without()}); }),
              HasSubstr("argument 1 ('x') was computed by 'split' from arrays with gradients and has none itself"));
}

TEST_F(ArchivedTape, TakesValuesThatNoGradientReachesForConstants) {
  tape_.launch("square", {3}, {y_.without(), x_.without()});
  tape_.launch("square", {3}, {z_.with(), y_.without()});
  EXPECT_EQ(z_.values[2], 81) << "constants";
}

TEST_F(ArchivedTape, RefusesWhatTheArchiveLacksBeforeItRuns) {
  EXPECT_THAT(refused([&] { tape_.launch("cube", {3}, {y_.with(), x_.with()}); }), HasSubstr("cube"));
  EXPECT_THAT(refused([&] { tape_.launch("forward_only", {3}, {y_.with(), x_.with()}); }),
              HasSubstr("kernel 'forward_only' (adjoint of y, x"));
  EXPECT_THAT(y_.values, ElementsAre(0, 0, 0));
  EXPECT_EQ(samite_tape_backward(nullptr, nullptr, 0), SAMITE_USER_ERROR);
}

TEST_F(ArchivedTape, RecordedLaunchesRunAgain) {
  const archived::Launch forward("square", archived::Direction::forward, {3}, {y_.without(), x_.without()});
  const archived::Launch adjoint("square", archived::Direction::adjoint, {3}, {y_.with(), x_.with()});
  for (double factor : {1.0, 2.0}) {
    x_.values = {factor, factor, factor};
    forward.run();
    y_.gradient = {1, 1, 1};
    adjoint.run();
  }
  EXPECT_THAT(y_.values, ElementsAre(4, 4, 4));
  EXPECT_THAT(x_.gradient, ElementsAre(6, 6, 6));
  EXPECT_THAT(refused([&] { archived::Launch("square", archived::Direction::forward, {3}, {y_.without()}); }),
              HasSubstr("it has 2 parameters, and 1 arguments are given"));
  EXPECT_EQ(samite_run(nullptr, nullptr, 0), SAMITE_USER_ERROR);
}

}  // namespace
}  // namespace samite
