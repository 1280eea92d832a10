// The CPU's threads: runs the blocks of a launch in parallel.
//
// The pool is oneTBB's, so it nests and shares threads with the user's own TBB: called from inside a task arena it uses
// only that arena's threads, and tbb::global_control limits it. While a call waits for its blocks its thread runs only
// blocks of that call, never a foreign task, so that a caller may hold a lock. A cancelled task group around a call
// does not cut it short: when it returns, every block has run.
//
// An exception from a block ends the call with that exception, after the running blocks have ended; blocks that have
// not started are dropped. Thread-safe.
#pragma once

#include <concepts>
#include <cstdint>
#include <memory>
#include <type_traits>

namespace samite {

// Calls run(context, begin, end) for blocks that together cover [0, count) once each, in any order and on any thread.
// Blocks begin at multiples of `minimum_block` and are whole multiples of it, except for the last. If a single minimum
// block holds everything, or there is one thread, this is one plain call on the calling thread.
void parallel_for_blocks(std::int64_t count, void (*run)(void *context, std::int64_t begin, std::int64_t end),
                         void *context, std::int64_t minimum_block);

// The same for a callable body(begin, end), which must be thread-safe.
template <std::invocable<std::int64_t, std::int64_t> Body>
void parallel_for_blocks(std::int64_t count, Body &&body, std::int64_t minimum_block) {
  using Plain = std::remove_reference_t<Body>;
  auto run = [](void *context, std::int64_t begin, std::int64_t end) { (*static_cast<Plain *>(context))(begin, end); };
  void *context = const_cast<void *>(static_cast<const void *>(std::addressof(body)));
  parallel_for_blocks(count, run, context, minimum_block);
}

// Inside a block: the number of its thread, from 0, below worker_slots() as called before. Concurrent blocks have
// different numbers.
int worker_index();
int worker_slots();

// The number of threads, including the caller's, that a call from this thread may use.
int worker_count();

}  // namespace samite
