#include "samite/runtime/task_pool.h"

#include <tbb/blocked_range.h>
#include <tbb/global_control.h>
#include <tbb/parallel_for.h>
#include <tbb/partitioner.h>
#include <tbb/task_arena.h>

#include <algorithm>

// The thread sanitizer cannot see how TBB orders its threads: the distribution's TBB is not instrumented, and its
// templates would cause false reports. So the sanitizer preset does not instrument this file, which reports the order
// itself. Weak: null in a program without the sanitizer.
// NOLINTBEGIN(bugprone-reserved-identifier): the sanitizer's own names
extern "C" {
[[gnu::weak]] void __tsan_acquire(void *address);
[[gnu::weak]] void __tsan_release(void *address);
}
// NOLINTEND(bugprone-reserved-identifier)

namespace samite {
namespace {

void tell_sanitizer(void (*what)(void *), void *address) {
  if (what) what(address);
}

// On every exit from a block or from the call, including exceptions.
struct TellAtExit {
  void (*what)(void *);
  void *address;
  ~TellAtExit() { tell_sanitizer(what, address); }
};

}  // namespace

int worker_count() {
  auto allowed = tbb::global_control::active_value(tbb::global_control::max_allowed_parallelism);
  return std::min(tbb::this_task_arena::max_concurrency(), static_cast<int>(allowed));
}

int worker_index() { return std::max(0, tbb::this_task_arena::current_thread_index()); }

int worker_slots() { return std::max(1, tbb::this_task_arena::max_concurrency()); }

void parallel_for_blocks(std::int64_t count, void (*run)(void *context, std::int64_t begin, std::int64_t end),
                         void *context, std::int64_t minimum_block) {
  if (count <= 0) return;
  minimum_block = std::max<std::int64_t>(minimum_block, 1);
  if (count <= minimum_block || worker_count() == 1) return run(context, 0, count);

  // TBB splits whole minimum blocks, not elements: block boundaries are then at cache lines, and only the last block's
  // vector loop has a remainder.
  std::int64_t units = (count - 1) / minimum_block + 1;
  char fork = 0, join = 0;
  auto blocks = [&](const tbb::blocked_range<std::int64_t> &range) {
    TellAtExit tell{__tsan_release, &join};
    tell_sanitizer(__tsan_acquire, &fork);
    run(context, range.begin() * minimum_block, range.end() == units ? count : range.end() * minimum_block);
  };
  TellAtExit tell{__tsan_acquire, &join};
  tell_sanitizer(__tsan_release, &fork);
  tbb::this_task_arena::isolate([&] {
    tbb::task_group_context group(tbb::task_group_context::isolated);
    tbb::parallel_for(tbb::blocked_range<std::int64_t>(0, units, 1), blocks, tbb::auto_partitioner(), group);
  });
}

}  // namespace samite
