// Loops in which the threads of a warp work together.
//
// Additions: all threads add to one element, another one in each iteration (`codegen/rows.h`). Many threads that add to
// one element wait for each other. So the warp sums the contributions of its threads, for several iterations together,
// and one thread adds each sum.
//
// Loads: all threads load the same elements, other elements in each iteration: those of the other body in an all-pairs
// loop. A load of one element takes as long as a load of 32. So each thread of the warp loads what one iteration needs
// into shared memory, for 32 iterations together, and each iteration reads its elements from there.
//
// All threads of the warp must be active and must run the same iterations. The emitted code tests that before the loop.
// Warps do not wait for each other.
#pragma once

#include "samite/codegen/element_loops.h"
#include "samite/codegen/loop_text.h"
#include "samite/codegen/rows.h"

#include <optional>

namespace samite::codegen {

class WarpLoops {
 public:
  WarpLoops(Emission &emission, const Values &values, MemoryAccess &memory, Rows &rows, LoopText &loops,
            ElementCode &code);

  // False, and nothing written, where a warp gains nothing by it.
  bool loop(const ir::For &loop);

  // While such a loop's statements are written: the contribution of a thread, and an element that the warp has loaded.
  void add(const Row &row, const ir::Accumulate &accumulate, SourceLocation where);
  std::optional<std::string> load(const ir::Operation &load) const;

 private:
  struct Loads {
    std::vector<const ir::Operation *> loads;
    std::string row_type, rows, row;  // C++ names: of what an iteration loads, of all of it, of one iteration's
  };
  bool may_work_together(const ir::For &loop) const;
  std::string goes_together(const ir::For &loop, const std::vector<Row> &rows, const Loads &loads) const;
  // warp_loads.cpp
  Loads loads_of(const ir::For &loop) const;
  void declare(Loads &loads);
  void fill(const ir::For &loop, const Loads &loads);

  Emission &emission_;
  const Values &values_;
  MemoryAccess &memory_;
  Rows &rows_;
  LoopText &loops_;
  ElementCode &code_;
  const passes::Uniformity of_warp_;  // where a warp lies along the last dimension
  std::vector<Loads> loads_;          // whose rows are named where the emitter stands
  std::size_t bytes_ = 0;             // of a thread, in all rows of the kernel
};

}  // namespace samite::codegen
