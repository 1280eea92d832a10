// The threads of a CUDA block, or of the blocks of a cluster, on one thread of the host, one at a time
// (tests/codegen/block_schedule.h). A barrier of the block holds all of its threads, one of a warp its 32.
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

  // Runs `thread(n)` for each n below `threads`, of `blocks` that are a cluster; `resume(n)` is called each time before
  // that thread goes on. Throws where threads wait for each other in vain, as on a GPU they would do for ever.
  void run(int threads, ThreadOrder order, const std::function<void(int)> &thread,
           const std::function<void(int)> &resume, int blocks = 1);

  // To be called by a thread that runs.
  void wait_for_block();
  void wait_for_warp();
  void wait_for_cluster();
  // Until no thread can go on but those that wait so.
  void wait_for_others();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace samite::test
