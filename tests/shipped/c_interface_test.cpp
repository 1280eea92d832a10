// The C interface of libsamite_runtime, as libsamite has it too: results, and every refusal as a number and a text.
#include "samite/shipped/samite_runtime.h"

#include "samite/base/atomic_file.h"
#include "tests/base/temporary_folder.h"
#include "tests/toolchain/child_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <vector>

namespace samite {
namespace {

using testing::AllOf;
using testing::HasSubstr;

struct HostVector {
  std::vector<double> values;
  std::array<std::int64_t, 2> shape{}, strides{};
  DLTensor tensor{};

  HostVector(std::size_t count, double value, std::int64_t stride = 1)
      : values(count * static_cast<std::size_t>(stride), value),
        shape{static_cast<std::int64_t>(count), 1},
        strides{stride, 1} {
    tensor.data = values.data();
    tensor.device.device_type = 1;
    tensor.ndim = 1;
    tensor.dtype = {2, 64, 1};
    tensor.shape = shape.data();
    tensor.strides = strides.data();
  }
  HostVector(const HostVector &) = delete;
};

class CInterface : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    folder_ = new test::TemporaryFolder;
    archive_ = (folder_->path() / "kernels.samite").string();
    test::ChildProcess child("sum_squares", {"launch", "8", "1"},
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
    ASSERT_EQ(samite_open_archive(SAMITE_RUNTIME_VERSION, archive_.c_str(), text_, sizeof text_), SAMITE_OK) << text_;
  }

  int launch(int direction = SAMITE_FORWARD) {
    return samite_launch("squares", direction, extents_, 1, arguments_.data(), count_, nullptr, text_, sizeof text_);
  }
  void expect_refused(const std::string &words, int direction = SAMITE_FORWARD) {
    EXPECT_EQ(launch(direction), SAMITE_USER_ERROR);
    EXPECT_THAT(std::string(text_), HasSubstr(words));
  }

  static inline test::TemporaryFolder *folder_ = nullptr;
  static inline std::string archive_;

  HostVector sums_{4, 0}, x_{10, 3}, sums_gradient_{4, 1}, x_gradient_{10, 0};
  std::int64_t extents_[1] = {10};
  std::array<SamiteArgument, 3> arguments_{{{&sums_.tensor, nullptr, 0}, {&x_.tensor, nullptr, 0}, {}}};
  int count_ = 2;
  char text_[2000] = {};
};

TEST_F(CInterface, LaunchesForwardAndAdjoint) {
  ASSERT_EQ(launch(), SAMITE_OK) << text_;
  EXPECT_STREQ(text_, "");
  EXPECT_EQ(sums_.values, (std::vector<double>{27, 27, 18, 18}));
  arguments_[0].gradient = &sums_gradient_.tensor;
  arguments_[1].gradient = &x_gradient_.tensor;
  ASSERT_EQ(launch(SAMITE_ADJOINT), SAMITE_OK) << text_;
  EXPECT_EQ(x_gradient_.values, std::vector<double>(10, 6));
}

TEST_F(CInterface, TakesAMissingStrideForContiguous) {
  x_.tensor.strides = nullptr;
  sums_.tensor.strides = nullptr;
  x_.tensor.byte_offset = 2 * sizeof(double);
  x_.shape[0] = extents_[0] = 8;
  ASSERT_EQ(launch(), SAMITE_OK) << text_;
  EXPECT_EQ(sums_.values, std::vector<double>(4, 18));
}

TEST_F(CInterface, RunsLargeLaunchesOnAllThreads) {
  const HostVector large(1 << 20, 1);
  arguments_[1].values = &large.tensor;
  extents_[0] = 1 << 20;
  ASSERT_EQ(launch(), SAMITE_OK) << text_;
  EXPECT_EQ(sums_.values, std::vector<double>(4, 1 << 18));
}

TEST_F(CInterface, RefusesArgumentsThatDoNotFit) {
  x_.tensor.dtype.bits = 32;
  expect_refused("argument 1 ('x') is an array of f64 with rank 1, and Buffer<f32>");
  x_.tensor.dtype = {2, 64, 4};
  expect_refused("type code 2 with 64 bits and 4 lanes, which no kernel has");
  x_.tensor.dtype.lanes = 1;
  x_.tensor.ndim = 2;
  expect_refused("argument 1 ('x') is an array of f64 with rank 1");
  x_.tensor.ndim = 0;
  expect_refused("a tensor has 0 dimensions; expected 1 to 4");
  x_.tensor.ndim = 1;
  x_.tensor.device.device_type = 7;
  expect_refused("device of DLPack's type 7");
  x_.tensor.device.device_type = 1;
  x_.tensor.data = nullptr;
  expect_refused("a null pointer given");
  arguments_[1].values = nullptr;
  expect_refused("argument 1 ('x') is an array of f64 with rank 1, and none is given");
  count_ = 3;
  expect_refused("it has 2 parameters, and 3 arguments are given");
}

TEST_F(CInterface, RefusesWhatTheArchiveDoesNotPromise) {
  const HostVector every_other(10, 1, 2);
  arguments_[1].values = &every_other.tensor;
  expect_refused(
      "no variant in the open kernel archives serves this launch. The nearest is forward for x86-64-v2; "
      "sums, x contiguous");
  arguments_[1].values = &x_.tensor;
  arguments_[1].gradient = &x_gradient_.tensor;
  expect_refused("a forward launch is given a gradient");
  expect_refused("kernel 'squares' (adjoint of x for ", SAMITE_ADJOINT);
  EXPECT_THAT(std::string(text_), HasSubstr("The nearest is adjoint of sums, x for x86-64-v2"));
  arguments_[0].gradient = &sums_gradient_.tensor;
  x_gradient_.strides[0] = 0;
  expect_refused("argument 1 ('x') has a gradient with other extents or strides than its own", SAMITE_ADJOINT);
  expect_refused("the direction is 5", 5);
}

TEST_F(CInterface, RefusesWrittenArraysWhoseElementsAreShared) {
  sums_.strides[0] = 0;
  expect_refused("argument 0 ('sums') is written, and has a stride of 0");
}

// No memory of that size is touched, because the launch is refused first.
TEST_F(CInterface, RefusesExtentsBeyondTheKernelsIntegers) {
  extents_[0] = std::int64_t{1} << 31;
  expect_refused("it is launched over 2147483648 in dimension 0, and counts with Int: at most 2147483647");
  extents_[0] = 10;
  x_.shape[0] = std::int64_t{1} << 31;
  expect_refused("argument 1 ('x') has an extent of 2147483648 in dimension 0, where the kernel indexes with Int");
}

TEST_F(CInterface, NamesTheKernelsThatAreThere) {
  EXPECT_EQ(samite_launch("cubes", SAMITE_FORWARD, extents_, 1, arguments_.data(), 2, nullptr, text_, sizeof text_),
            SAMITE_USER_ERROR);
  EXPECT_THAT(std::string(text_), AllOf(HasSubstr("can launch kernel 'cubes'; there are "), HasSubstr("squares"),
                                        HasSubstr("SAMITE_AOT_RECORD")));
}

TEST_F(CInterface, RefusesNullPointersAndOtherVersions) {
  const auto user_error = [&](int result) { EXPECT_EQ(result, SAMITE_USER_ERROR); };
  user_error(samite_launch(nullptr, 0, extents_, 1, arguments_.data(), 2, nullptr, text_, sizeof text_));
  user_error(samite_launch("squares", 0, nullptr, 1, arguments_.data(), 2, nullptr, text_, sizeof text_));
  user_error(samite_launch("squares", 0, extents_, 1, nullptr, 2, nullptr, text_, sizeof text_));
  user_error(samite_launch("squares", 0, extents_, 5, arguments_.data(), 2, nullptr, text_, sizeof text_));
  user_error(samite_open_archive(SAMITE_RUNTIME_VERSION, nullptr, nullptr, 0));
  user_error(samite_open_archive(SAMITE_RUNTIME_VERSION + 1, archive_.c_str(), text_, sizeof text_));
  EXPECT_THAT(std::string(text_),
              HasSubstr("the caller was compiled for version 2 of Samite's C interface, and this library has "
                        "version 1"));
  EXPECT_EQ(samite_runtime_version(), SAMITE_RUNTIME_VERSION);
}

TEST_F(CInterface, CutsLongErrorsToTheCallersMemory) {
  char few[8] = "unused!";
  EXPECT_EQ(samite_launch("cubes", 0, extents_, 1, arguments_.data(), 2, nullptr, few, 5), SAMITE_USER_ERROR);
  EXPECT_STREQ(few, "no o");
  EXPECT_EQ(few[5], 'd') << "what is behind it stays";
}

TEST_F(CInterface, RefusesDamagedArchives) {
  const std::string bytes = read_file(archive_);
  EXPECT_EQ(samite_open_archive_bytes(SAMITE_RUNTIME_VERSION, "cut", bytes.data(), 100, text_, sizeof text_),
            SAMITE_USER_ERROR);
  EXPECT_THAT(std::string(text_), HasSubstr("the kernel archive cut"));
  EXPECT_EQ(samite_open_archive(SAMITE_RUNTIME_VERSION, "/nowhere/kernels.samite", text_, sizeof text_),
            SAMITE_USER_ERROR);
  EXPECT_THAT(std::string(text_), HasSubstr("/nowhere/kernels.samite"));
}

}  // namespace
}  // namespace samite
