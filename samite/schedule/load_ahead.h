// Fills shared memory ahead, of a scheduled kernel on a GPU: what an iteration of a loop of the block needs is copied
// while iterations before it run.
//
// Memory that is allocated in a serial loop with `stages` of more than one (Stage::pipelined) gets as many buffers,
// which are used in turn:
//
//   for s in 0 .. stages - 1
//     if s < iterations: start the copies of iteration s into buffer s
//     commit_copies
//   for i in 0 .. iterations
//     wait_for_copies stages - 2, barrier      iteration i is there, and all threads have done with iteration i - 1
//     if i + stages - 1 < iterations: start the copies of that iteration into the buffer of iteration i - 1
//     commit_copies
//     what is left of iteration i, with buffer i % stages
//
// It can be copied so where one loop over threads fills it, by nothing but elements of arrays as they are, of 4 or 8
// bytes, and where these loads and their indices need nothing that an iteration computes in shared memory. Otherwise
// the memory is filled where it was.
#pragma once

#include "samite/ir/kernel.h"

#include <string>
#include <vector>

namespace samite::schedules {

struct LoadAhead {
  ir::LocalArrayId array;   // as it was called before
  ir::LocalArrayId memory;  // all of its buffers
  int buffers;
  std::string why_not;  // empty where it is loaded ahead
};

// Before barriers are placed. What became of each memory of several stages.
std::vector<LoadAhead> load_ahead(ir::Kernel &kernel);

}  // namespace samite::schedules
