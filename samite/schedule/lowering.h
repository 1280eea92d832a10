// The state that the steps of lowering share: the algorithm with its schedule, and the position in the program being
// written.
//
// lower.h says what lowering makes. The parts are: regions.h (which elements of each Func are needed), sites.h (a
// definition whose loops are being written), producers.h (functions computed inside of loops), loops.h, thread_loops.h
// and launches.h (loops), storage.h, launch_sizes.h and thread_memory.h (memory), bodies.h (innermost statements),
// symbols.h and integers.h (integers).
#pragma once

#include "samite/schedule/finish_kernel.h"
#include "samite/schedule/integers.h"
#include "samite/schedule/loop_nest.h"
#include "samite/schedule/storage.h"
#include "samite/schedule/thread_memory.h"

#include <set>
#include <string>

namespace samite::schedules {

// The program as far as it is written: the steps that the host's are added to.
struct HostSteps {
  Program program;
  Steps *steps = &program.steps;
  ir::Block statements;  // which follow the steps
  std::vector<TemporaryArray> temporaries;
  std::string name_end;  // of kernels of a specialization

  // The statements become steps.
  void flush();
  void add(Step step);
};

// A local array of the kernel, and the line of the loop nest that says so.
struct Kept {
  KernelLaunch::Kept memory;
  int line;
  std::string text;
};

// The kernel that is written.
struct OpenKernel {
  bool open = false;
  bool in_rest = false;      // where pieces are not whole
  bool block_fills = false;  // the block's threads compute together what is computed outside of their loops
  std::int64_t block_threads = 1;
  ir::LocalId first_local = 0;  // those before it are the host's
  ir::LocalArrayId next_array = 0;
  std::vector<Kept> kept;
  std::vector<ThreadMemory> thread_memory;
  int groups = 0, nests = 0;                        // of threads, in all kernels
  std::set<std::vector<passes::Affine>> countable;  // which the launch is required to be already
};

struct Lowering {
  const bool gpu;
  const Algorithm algorithm;
  std::vector<FunctionSchedule> schedules;  // a specialization's while its loops are written
  StatementWriter write;
  Symbols symbols;
  OpenLoops open;
  Integers integers;
  Reductions reductions;
  Origins origins;
  bool checks_promises = false;
  Boxes called;  // of each function, by all that call it
  Storages storages;
  HostSteps host;
  OpenKernel kernel;
  LoopNest nest;
  // For messages: of each function a call, and by dimension an index whose bounds were not known.
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

  // Writes into this block; what is computed in it is known in it alone.
  void into(ir::Block &block, const std::function<void()> &contents);
};

}  // namespace samite::schedules
