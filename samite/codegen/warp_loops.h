// The text of loops in which the threads of a warp work together (`passes/warp_loops.h`).
//
// They ask before the loop whether all of them are active and run the same iterations. Then they sum, and load into
// shared memory, what several iterations need; what is left over, and what they do not go through together, each thread
// does by itself.
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

  // False, and nothing written, of any other loop.
  bool loop(const ir::For &loop);

  // While such a loop's statements are written: the contribution of a thread, and an element that the warp has loaded.
  void add(const Row &row, const ir::Accumulate &accumulate, SourceLocation where);
  std::optional<std::string> load(const ir::Operation &load) const;

 private:
  struct Loads {
    std::vector<const ir::Operation *> loads;
    std::string row_type, rows, row;  // C++ names: of what an iteration loads, of all of it, of one iteration's
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
  std::vector<Loads> loads_;  // whose rows are named where the emitter stands
};

}  // namespace samite::codegen
