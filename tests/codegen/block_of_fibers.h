// The threads of a CUDA block, or of the blocks of a cluster, as fibers of one host thread
// (tests/codegen/block_schedule.h). A barrier of the block holds all of its threads, a barrier of a warp 32.
#pragma once

#include "tests/codegen/block_schedule.h"

#include <functional>
#include <memory>

namespace samite::test {

class BlockOfFibers {
 public:
  BlockOfFibers();
  ~BlockOfFibers();
  BlockOfFibers(const BlockOfFibers &) = delete;
  BlockOfFibers &operator=(const BlockOfFibers &) = delete;

  // Runs `thread(n)` for each n below `threads`, for `blocks` blocks of a cluster; `resume(n)` is called each time
  // before that thread continues. Throws on a deadlock; on a GPU they would wait forever.
  void run(int threads, ThreadOrder order, const std::function<void(int)> &thread,
           const std::function<void(int)> &resume, int blocks = 1);

  // Called by a running thread.
  void wait_for_block();
  void wait_for_warp();
  void wait_for_cluster();
  // Until no thread can continue except those that wait in this way.
  void wait_for_others();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace samite::test
