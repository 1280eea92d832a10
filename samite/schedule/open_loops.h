// The loops that are open at the position where lowering writes.
#pragma once

#include "samite/schedule/loop_nest.h"
#include "samite/schedule/symbols.h"

#include <optional>

namespace samite::schedules {

// The open thread loops. The work of each thread is collected in `group` until the next block-level step; then the
// loops are written before that step.
struct ThreadNest {
  std::uint32_t function;  // to which the loops belong
  std::vector<NestLoop> loops;
  std::vector<std::int64_t> caps;  // of those whose extents are known only at launch, 0
  bool sized_at_launch = false;    // some of them are
  ir::Block *outside;
  ir::Block group;
  int number = 0;               // of the group
  int id = 0;                   // of the nest
  std::vector<NestLine> lines;  // of the loops, for the printed loop nest
  int line = 0;                 // of the group
  bool vectors;                 // the CPU's lanes are loops inside
};

struct OpenLoops {
  std::vector<OpenLoop> all;
  std::optional<ThreadNest> threads;
  bool lanes = false;       // of the CPU's vectors
  std::int64_t copies = 1;  // copies that unrolled loops make of their contents
};

// Whether a form depends on the index of a thread; with `or_inside`, also on that of a loop that each thread runs on
// its own.
bool depends_on_threads(const OpenLoops &open, const Symbols &symbols, const passes::Affine &form,
                        bool or_inside = false);

}  // namespace samite::schedules
