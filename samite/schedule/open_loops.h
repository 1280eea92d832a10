// The loops that are open at the position where lowering writes.
#pragma once

#include "samite/schedule/loop_nest.h"
#include "samite/schedule/symbols.h"

#include <optional>

namespace samite::schedules {

// The loops of threads that are open. What each thread does is gathered in `group`, until the block does something
// together, before which the loops are written.
struct ThreadNest {
  std::uint32_t function;  // whose loops they are
  std::vector<NestLoop> loops;
  std::vector<std::int64_t> caps;  // of those whose extents are known at launch only, 0
  bool sized_at_launch = false;    // some of them are
  ir::Block *outside;
  ir::Block group;
  int number = 0;               // of the group
  int id = 0;                   // of the nest
  std::vector<NestLine> lines;  // of the loops, as the user knows them
  int line = 0;                 // of the group
  bool vectors;                 // the CPU's lanes are loops inside
};

struct OpenLoops {
  std::vector<OpenLoop> all;
  std::optional<ThreadNest> threads;
  bool lanes = false;       // of the CPU's vectors
  std::int64_t copies = 1;  // that unrolled loops make of what is inside
};

// On the index of a thread, or on that of a loop that each thread goes through by itself.
bool depends_on_threads(const OpenLoops &open, const Symbols &symbols, const passes::Affine &form,
                        bool or_inside = false);

}  // namespace samite::schedules
