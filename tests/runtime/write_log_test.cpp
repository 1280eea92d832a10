#include "samite/runtime/write_log.h"

#include "samite/runtime/buffer.h"
#include "samite/runtime/shared_elements.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace samite::test {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct WriteLogTest : testing::Test {
  Buffer<float> array{Device::cpu(), {4, 6}};
  const WriteLog &log = array.storage()->watch();
  std::uint64_t start = array.version();

  std::vector<std::uint64_t> writes(const AnyBuffer &view) const {
    std::vector<std::uint64_t> versions = log.writes(region_of(view), start);
    for (std::uint64_t &version : versions) version -= start;
    return versions;
  }
  Buffer<float> row(std::int64_t i) const { return array.slice(0, i, i + 1); }
  Buffer<float> column(std::int64_t j, std::int64_t step = 1) const { return array.slice(1, j, 6, step); }
};

TEST_F(WriteLogTest, TellsRowsApart) {
  row(1).fill(1);
  row(2).copy_from({1, 2, 3, 4, 5, 6});
  array.set({1, 3}, 7);
  EXPECT_THAT(writes(row(0)), IsEmpty());
  EXPECT_THAT(writes(row(1)), ElementsAre(1, 3));
  EXPECT_THAT(writes(row(2)), ElementsAre(2));
  EXPECT_THAT(writes(array), ElementsAre(1, 2, 3));
  EXPECT_THAT(log.writes(region_of(row(1)), start + 3), IsEmpty()) << "since then";
}

TEST_F(WriteLogTest, TellsInterleavedColumnsApart) {
  column(0, 2).fill(1);
  EXPECT_THAT(writes(column(1, 2)), IsEmpty());
  EXPECT_THAT(writes(column(2, 4)), ElementsAre(1));
}

TEST_F(WriteLogTest, HasOnePlaceForARegionThatIsWrittenAgain) {
  for (int i = 0; i < 100; ++i) row(1).fill(1);
  EXPECT_THAT(writes(array), ElementsAre(100));
}

TEST_F(WriteLogTest, TakesWritesOfUnknownPlaceForAllElements) {
  array.storage()->mark_written();
  EXPECT_THAT(writes(row(3)), ElementsAre(1));
}

TEST_F(WriteLogTest, TakesALotOfRegionsForAllElements) {
  Buffer<float> large(Device::cpu(), {2, 5000});
  const WriteLog &of_large = large.storage()->watch();
  for (std::int64_t j = 0; j < 5000; ++j) large.set({0, j}, 1);
  EXPECT_THAT(of_large.writes(region_of(large.slice(0, 1, 2)), 0), testing::SizeIs(1)) << "never false where one was";
  EXPECT_THAT(of_large.writes(region_of(large.slice(1, 4999, 5000)), 4999), testing::SizeIs(1));
  large.storage()->unwatch();
}

TEST_F(WriteLogTest, ForgetsWhenTheLastOneLooksAway) {
  array.storage()->watch();
  row(1).fill(1);
  array.storage()->unwatch();
  EXPECT_THAT(writes(row(1)), ElementsAre(1));
  array.storage()->unwatch();
  row(1).fill(1);
  array.storage()->watch();
  EXPECT_THAT(writes(row(1)), IsEmpty());
}

}  // namespace
}  // namespace samite::test
