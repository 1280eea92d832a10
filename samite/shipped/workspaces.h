// The workers' memory for local arrays that are not on the stack (codegen/workspace.h).
//
// Each worker has its own workspace, made when it first runs a box. Chunks come from the process's scratch pool and
// return to it after the launch, so that a launch in a loop does not request memory from the system each time.
//
// One object serves one launch. `of_worker()` may be called from any of its workers.
#pragma once

#include "samite/codegen/workspace.h"
#include "samite/runtime/scratch.h"

#include <memory>
#include <vector>

namespace samite::shipped {

// A workspace that grows by chunks of at least 1 MiB, until memory runs out.
class ScratchWorkspace : public codegen::Workspace {
 public:
  ScratchWorkspace() { grow = &ScratchWorkspace::take_chunk; }
  ScratchWorkspace(const ScratchWorkspace &) = delete;
  ScratchWorkspace &operator=(const ScratchWorkspace &) = delete;

 private:
  struct Chunk {
    Scratch memory;
    std::size_t bytes;
  };

  static bool take_chunk(codegen::Workspace *workspace, std::int64_t bytes) noexcept;

  std::vector<Chunk> chunks_;  // a stack: chunks above the current one are free
};

class Workspaces {
 public:
  Workspaces();

  // The calling worker's.
  codegen::Workspace *of_worker();

 private:
  std::vector<std::unique_ptr<ScratchWorkspace>> workers_;  // by worker index; accessed only by that worker
};

}  // namespace samite::shipped
