// The task pool inside a program that uses TBB itself. Uninstrumented in the thread sanitizer's preset, as
// samite/runtime/task_pool.cpp is, for the same reason.
#include "samite/runtime/task_pool.h"

#include <gtest/gtest.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/task_arena.h>

#include <atomic>
#include <mutex>
#include <set>
#include <thread>

namespace samite {
namespace {

TEST(TaskPoolInTbb, StaysInTheUsersArena) {
  tbb::task_arena alone(1);
  std::set<std::thread::id> threads;
  alone.execute([&] {
    EXPECT_EQ(worker_count(), 1);
    parallel_for_blocks(1000, [&](std::int64_t, std::int64_t) { threads.insert(std::this_thread::get_id()); }, 1);
  });
  EXPECT_EQ(threads.size(), 1u);
}

TEST(TaskPoolInTbb, ObeysTheUsersLimit) {
  tbb::global_control limit(tbb::global_control::max_allowed_parallelism, 1);
  std::set<std::thread::id> threads;

  parallel_for_blocks(1000, [&](std::int64_t, std::int64_t) { threads.insert(std::this_thread::get_id()); }, 1);

  EXPECT_EQ(worker_count(), 1);
  EXPECT_EQ(threads.size(), 1u);
}

// A thread that waits for its blocks and took up a task of the outer loop would lock the mutex a second time.
TEST(TaskPoolInTbb, ACallerMayHoldALock) {
  static std::mutex mutex;  // on the stack, its place would be another's before the sanitizer knows of the last unlock
  std::atomic<int> visits = 0;
  tbb::parallel_for(0, 64, [&](int) {
    std::lock_guard lock(mutex);
    parallel_for_blocks(64, [&](std::int64_t begin, std::int64_t end) { visits += static_cast<int>(end - begin); }, 1);
  });
  EXPECT_EQ(visits, 64 * 64);
}

TEST(TaskPoolInTbb, RunsEveryBlockInsideACancelledGroup) {
  std::atomic<int> visits = 0;
  tbb::task_group_context group;
  tbb::parallel_for(
      0, 1,
      [&](int) {
        group.cancel_group_execution();
        parallel_for_blocks(
            1000, [&](std::int64_t begin, std::int64_t end) { visits += static_cast<int>(end - begin); }, 1);
      },
      group);
  EXPECT_EQ(visits, 1000);
}

}  // namespace
}  // namespace samite
