// The order in which the threads of a block, or of the blocks of a cluster, run, one at a time, so that missing
// barriers show: each runs as far as it can before another one does. A barrier of a warp holds its 32 threads, and no
// other warp advances meanwhile: a warp runs to the next barrier of the block first.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <random>
#include <stdexcept>
#include <vector>

namespace samite::test {

// The choice among warps that can continue, and among a warp's threads: the first, the last, alternately one and the
// other from barrier to barrier of the block, or at random, by the seed.
struct ThreadOrder {
  enum class Kind : std::uint8_t { FirstToLast, LastToFirst, Alternating, Random } kind = Kind::Alternating;
  unsigned seed = 0;  // of Random
};

// The barrier that a thread waits at. A thread that has ended holds no others. When no thread can continue, a thread
// that waits for others checks again whether its condition holds.
enum class Waiting : std::uint8_t { Nothing, Warp, Block, Cluster, Others, Ended };

class BlockSchedule {
 public:
  // `threads` of all `blocks` together.
  BlockSchedule(int threads, ThreadOrder order, int blocks = 1)
      : order_(order), random_(order.seed), of_block_(threads / blocks) {
    waiting.assign(static_cast<std::size_t>(threads), Waiting::Nothing);
  }

  std::vector<Waiting> waiting;  // of each thread

  // `go_on(n)` runs a thread as far as it can, and notes what it waits for. `meet(first, last)` is called before the
  // threads from `first` to below `last` continue from their barrier. Throws std::runtime_error on a deadlock.
  void run(const std::function<void(int)> &go_on, const std::function<void(int, int)> &meet) {
    const int threads = static_cast<int>(waiting.size());
    int asked = 0;  // since the last barrier of the block
    for (int round = 0;; ++round) {
      backwards_ =
          order_.kind == ThreadOrder::Kind::LastToFirst || (order_.kind == ThreadOrder::Kind::Alternating && round % 2);
      for (std::vector<int> warps = warps_that_can_go_on(); !warps.empty(); warps = warps_that_can_go_on()) {
        sort(warps);
        const int first = warps[0], last = end_of_warp(first);
        if (all_wait(first, last, Waiting::Warp)) release(first, last, meet);
        std::vector<int> ready;
        for (int n = first; n < last; ++n)
          if (of(n) == Waiting::Nothing) ready.push_back(n);
        sort(ready);
        for (const int n : ready) go_on(n);
      }
      if (std::ranges::all_of(waiting, [](Waiting own) { return own == Waiting::Ended; })) return;
      if (const int block = block_that_meets(); block < threads) {
        release(block, block + of_block_, meet);
        asked = 0;
        continue;
      }
      if (std::ranges::count(waiting, Waiting::Others) > 0 && asked++ < most_asked) {
        std::ranges::replace(waiting, Waiting::Others, Waiting::Nothing);
        continue;
      }
      if (!all_wait(0, threads, Waiting::Cluster))
        throw std::runtime_error("threads of a block wait for others, which wait elsewhere");
      release(0, threads, meet);
      asked = 0;
    }
  }

 private:
  static constexpr int warp = 32, most_asked = 10000;

  Waiting &of(int thread) { return waiting[static_cast<std::size_t>(thread)]; }
  int end_of_warp(int first) const { return std::min(first + warp, static_cast<int>(waiting.size())); }

  // Named by their first threads.
  std::vector<int> warps_that_can_go_on() {
    std::vector<int> warps;
    for (int first = 0; first < static_cast<int>(waiting.size()); first += warp) {
      const auto begin = waiting.begin() + first, end = waiting.begin() + end_of_warp(first);
      if (std::find(begin, end, Waiting::Nothing) != end || all_wait(first, end_of_warp(first), Waiting::Warp))
        warps.push_back(first);
    }
    return warps;
  }

  // The first thread of a block all of whose threads are at a barrier of the block, or one past the last thread.
  int block_that_meets() {
    const int threads = static_cast<int>(waiting.size());
    std::vector<int> blocks;
    for (int first = 0; first < threads; first += of_block_)
      if (all_wait(first, first + of_block_, Waiting::Block)) blocks.push_back(first);
    sort(blocks);
    return blocks.empty() ? threads : blocks[0];
  }

  bool all_wait(int first, int last, Waiting for_what) {
    bool any = false;
    for (int n = first; n < last; ++n) {
      if (of(n) != for_what && of(n) != Waiting::Ended) return false;
      any = any || of(n) == for_what;
    }
    return any;
  }

  void release(int first, int last, const std::function<void(int, int)> &meet) {
    meet(first, last);
    for (int n = first; n < last; ++n)
      if (of(n) != Waiting::Ended) of(n) = Waiting::Nothing;
  }

  void sort(std::vector<int> &some) {
    if (backwards_) std::ranges::reverse(some);
    if (order_.kind == ThreadOrder::Kind::Random) std::ranges::shuffle(some, random_);
  }

  ThreadOrder order_;
  std::mt19937 random_;
  int of_block_;
  bool backwards_ = false;
};

}  // namespace samite::test
