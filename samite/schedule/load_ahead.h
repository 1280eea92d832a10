// Prefetches into shared memory, in a scheduled kernel on a GPU: copies what an iteration of a block-level loop needs
// while earlier iterations run.
//
// Memory that is allocated in a serial loop with more than one stage (Stage::pipelined) gets that many buffers, used in
// turn:
//
//   for s in 0 .. stages - 1
//     if s < iterations: start the copies of iteration s into buffer s
//     commit_copies
//   for i in 0 .. iterations
//     wait_for_copies stages - 2, barrier      iteration i has arrived, and all threads have finished iteration i - 1
//     if i + stages - 1 < iterations: start the copies of that iteration into the buffer of iteration i - 1
//     commit_copies
//     the rest of iteration i, with buffer i % stages
//
// The memory must be filled by one thread loop that only copies elements of arrays, of 4 or 8 bytes, and neither these
// loads nor their indices may need anything that an iteration computes in shared memory. Otherwise the memory is filled
// where it was.
#pragma once

#include "samite/ir/kernel.h"

#include <string>
#include <vector>

namespace samite::schedules {

struct LoadAhead {
  ir::LocalArrayId array;   // the array before prefetching
  ir::LocalArrayId memory;  // all of its buffers
  int buffers;
  std::string why_not;  // empty if it is prefetched
};

// Runs before barriers are placed. Returns what became of each memory with several stages.
std::vector<LoadAhead> load_ahead(ir::Kernel &kernel);

}  // namespace samite::schedules
