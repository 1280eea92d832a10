// The threads of a CUDA block on one thread of the host, one at a time, in an order that shows missing barriers: each
// runs as far as it can before another one does. A barrier of the block holds all of its threads, one of a warp its 32.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stdexcept>

namespace samite::test {

// Which of the threads that can go on does: the first, the last, or one or the other from barrier to barrier, and any
// at random for other seeds.
struct ThreadOrder {
  enum class Kind : std::uint8_t { FirstToLast, LastToFirst, Alternating, Random } kind = Kind::Alternating;
  unsigned seed = 0;  // of Random
};

class BlockOfFibers {
 public:
  BlockOfFibers();
  ~BlockOfFibers();
  BlockOfFibers(const BlockOfFibers &) = delete;
  BlockOfFibers &operator=(const BlockOfFibers &) = delete;

  // Runs `thread(n)` for each n below `threads`; `resume(n)` is called each time before that thread goes on. Throws
  // where threads wait for each other in vain, as on a GPU they would do for ever.
  void run(int threads, ThreadOrder order, const std::function<void(int)> &thread,
           const std::function<void(int)> &resume);

  // To be called by a thread that runs.
  void wait_for_block();
  void wait_for_warp();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace samite::test
