// Lists the memory that the Funcs of a scheduled kernel use, and when. Loop nests, reports and pages show it.
//
// Time is counted in statements of the kernel in program order, with a position for the end of each loop, as in
// passes/tiles/plan_tile_memory.h. A pure function of the kernel whose text is written.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/schedule/program.h"

#include <optional>
#include <string>
#include <vector>

namespace samite::schedules {

struct KeptMemory {
  std::string func;
  std::string type;    // "f32", of each value of a Func with several
  std::string memory;  // "shared memory", "registers", "local memory of its thread", "memory of its task"
  std::optional<std::int64_t> elements, bytes;  // nothing if known only at launch
  std::optional<std::int64_t> offset;           // in shared memory
  int first, last;  // from the allocation to the last use, or to the end of a loop around it
  struct Span {
    int first, last;
  };
  std::optional<Span> stored, loaded;  // from the first such statement to the last
};

struct KernelMemory {
  std::vector<KeptMemory> kept;  // in program order
  std::int64_t shared_bytes = 0;
  int statements = 0;
};

// `launch` maps local arrays to Funcs.
KernelMemory memory_of(const ir::Kernel &planned, const KernelLaunch &launch, bool gpu);

}  // namespace samite::schedules
