// The text of loops in which the threads of a warp work together (`passes/threads/warp_loops.h`).
//
// They test before the loop whether all threads are active and run the same iterations. If so, they sum, and load into
// shared memory, for several iterations at once. Remaining iterations, and loops that fail the test, run per thread.
#pragma once

#include "samite/codegen/element_loops.h"
#include "samite/codegen/loop_text.h"
#include "samite/codegen/rows.h"
#include "samite/codegen/thread_access.h"

#include <optional>

namespace samite::codegen {

class WarpLoops {
 public:
  WarpLoops(Emission &emission, ThreadAccess &access, Rows &rows, LoopText &loops, ElementCode &code);

  // Returns false, without output, for any other loop.
  bool loop(const ir::For &loop);

  // While such a loop's statements are being written: a thread's contribution, and an element that the warp has loaded.
  void add(const Row &row, const ir::Accumulate &accumulate, SourceLocation where);
  std::optional<std::string> load(const ir::Operation &load) const;

 private:
  struct Loads {
    std::vector<const ir::Operation *> loads;
    std::string row_type, rows, row;  // C++ names: type of an iteration's loads, all rows, and the row of one iteration
  };
  std::string goes_together(const ir::For &loop) const;
  // warp_loads.cpp
  static Loads loads_of(const ir::For &loop);
  void declare(Loads &loads);
  void fill(const ir::For &loop, const Loads &loads);

  Emission &emission_;
  ThreadAccess &access_;
  Rows &rows_;
  LoopText &loops_;
  ElementCode &code_;
  std::vector<Loads> loads_;  // whose rows are in scope
};

}  // namespace samite::codegen
