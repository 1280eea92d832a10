#include "samite/runtime/task_pool.h"

#include <gtest/gtest.h>

#include <atomic>
#include <limits>
#include <stdexcept>
#include <thread>
#include <vector>

namespace samite {
namespace {

TEST(TaskPool, VisitsEveryIndexOnce) {
  for (std::int64_t count : {0, 1, 7, 8, 9, 1000, 100'003})
    for (std::int64_t minimum_block : {0, 1, 8, 64, 200'000}) {
      std::vector<int> visits(static_cast<std::size_t>(count));

      parallel_for_blocks(
          count,
          [&](std::int64_t begin, std::int64_t end) {
            for (std::int64_t i = begin; i < end; ++i) ++visits[static_cast<std::size_t>(i)];
          },
          minimum_block);

      EXPECT_EQ(visits, std::vector<int>(static_cast<std::size_t>(count), 1)) << count << " by " << minimum_block;
    }
}

TEST(TaskPool, CutsAtMultiplesOfTheMinimumBlock) {
  std::atomic<int> wrong = 0;
  parallel_for_blocks(
      10'001,
      [&](std::int64_t begin, std::int64_t end) {
        if (begin % 16 != 0 || (end % 16 != 0 && end != 10'001) || begin >= end) ++wrong;
      },
      16);
  EXPECT_EQ(wrong, 0);
}

TEST(TaskPool, RunsASmallLoopOnTheCallersThread) {
  std::thread::id caller = std::this_thread::get_id(), seen;
  int calls = 0;
  parallel_for_blocks(64, [&](std::int64_t, std::int64_t) { seen = std::this_thread::get_id(), ++calls; }, 64);
  EXPECT_EQ(seen, caller);
  EXPECT_EQ(calls, 1);
}

TEST(TaskPool, CountsToTheEndOf64Bits) {
  std::int64_t most = std::numeric_limits<std::int64_t>::max();
  std::atomic<std::uint64_t> sum = 0;
  parallel_for_blocks(
      most, [&](std::int64_t begin, std::int64_t end) { sum += static_cast<std::uint64_t>(end - begin); }, most / 3);
  EXPECT_EQ(sum, static_cast<std::uint64_t>(most));
}

TEST(TaskPool, Nests) {
  std::atomic<int> visits = 0;
  parallel_for_blocks(
      32,
      [&](std::int64_t begin, std::int64_t end) {
        for (std::int64_t i = begin; i < end; ++i)
          parallel_for_blocks(100, [&](std::int64_t b, std::int64_t e) { visits += static_cast<int>(e - b); }, 1);
      },
      1);
  EXPECT_EQ(visits, 3200);
}

TEST(TaskPool, PassesOnWhatABlockThrows) {
  auto fail = [](std::int64_t begin, std::int64_t) {
    if (begin == 0) throw std::runtime_error("first block");
  };
  EXPECT_THROW(parallel_for_blocks(1000, fail, 1), std::runtime_error);
  EXPECT_THROW(parallel_for_blocks(10, fail, 100), std::runtime_error);
}

TEST(TaskPool, HasAtLeastTheCaller) { EXPECT_GE(worker_count(), 1); }

// Writes of blocks are visible after the call, and earlier writes are visible to blocks.
TEST(TaskPool, OrdersPlainMemory) {
  for (int round = 0; round < 100; ++round) {
    std::vector<int> values(4096, round);
    parallel_for_blocks(
        4096,
        [&](std::int64_t begin, std::int64_t end) {
          for (std::int64_t i = begin; i < end; ++i) values[static_cast<std::size_t>(i)] += 1;
        },
        64);
    for (int value : values) ASSERT_EQ(value, round + 1);
  }
}

}  // namespace
}  // namespace samite
