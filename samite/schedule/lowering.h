// The state that the steps of lowering share: the algorithm with its schedule, and the position in the program being
// written.
//
// lower.h describes the result of lowering. The parts are: regions.h (which elements of each Func are needed), sites.h
// (a definition whose loops are being written), producers.h (functions computed inside of loops), loops.h,
// fused_rows.h, thread_loops.h and launches.h (loops), storage.h, launch_sizes.h and thread_memory.h (memory), bodies.h
// (innermost statements), symbols.h and integers.h (integers).
#pragma once

#include "samite/schedule/finish_kernel.h"
#include "samite/schedule/integers.h"
#include "samite/schedule/loop_nest.h"
#include "samite/schedule/lower.h"
#include "samite/schedule/storage.h"
#include "samite/schedule/thread_memory.h"

#include <set>
#include <string>

namespace samite::schedules {

// The program so far; `steps` is where the host's next step is appended.
struct HostSteps {
  Program program;
  Steps *steps = &program.steps;
  ir::Block statements;  // they follow the steps
  std::vector<TemporaryArray> temporaries;
  std::string name_end;  // suffix of the names of a specialization's kernels

  // Turns the statements into steps.
  void flush();
  void add(Step step);
};

// A local array of the kernel, and its line in the loop nest.
struct Kept {
  KernelLaunch::Kept memory;
  int line;
  std::string text;
};

// The kernel that is being written.
struct OpenKernel {
  bool open = false;
  bool in_rest = false;      // in the code for partial pieces
  bool block_fills = false;  // the block's threads together compute code outside of their loops
  std::int64_t block_threads = 1;
  ir::LocalId first_local = 0;  // earlier ones belong to the host
  ir::LocalArrayId next_array = 0;
  std::vector<Kept> kept;
  std::vector<ThreadMemory> thread_memory;
  int groups = 0, nests = 0;                        // of threads, in all kernels
  std::set<std::vector<passes::Affine>> countable;  // the launch's requirements so far
};

// The ranges of the algorithm's variables and indices.
struct Ranges {
  Reductions reductions;
  Origins origins;
  Boxes called;  // the box of each function that all its callers need
};

struct Lowering {
  const bool gpu;
  const Algorithm algorithm;
  std::vector<FunctionSchedule> schedules;  // a specialization's while its loops are written
  StatementWriter write;
  Symbols symbols;
  OpenLoops open;
  Integers integers;
  Ranges ranges;
  Choice choice = {};
  Storages storages;
  HostSteps host;
  OpenKernel kernel;
  LoopNest nest;
  // For messages: one call of each function, and by dimension an index with unknown bounds.
  struct Call {
    struct Index {
      std::string text;
      SourceLocation where;
    };
    SourceLocation where;
    std::map<std::size_t, Index> unknown;
  };
  mutable std::map<std::uint32_t, Call> last_call;

  Lowering(bool for_gpu, Algorithm of, std::vector<FunctionSchedule> schedules_of);
  Lowering(const Lowering &) = delete;
  Lowering &operator=(const Lowering &) = delete;

  const Function &function(std::uint32_t f) const { return algorithm.functions[f]; }
  bool in_shared(std::uint32_t f) const { return schedules[f].space == ir::MemorySpace::shared; }

  // Writes into this block; symbols computed in it are known only there.
  void into(ir::Block &block, const std::function<void()> &contents);
};

}  // namespace samite::schedules
