// Writes the loops of a definition, one inside of the other.
#pragma once

#include "samite/schedule/sites.h"

namespace samite::schedules {

inline constexpr std::int64_t most_iterations = 1 << 30;  // from here on as many as a launch says

// What is larger comes of the ranges of types, and says nothing to the user: it is known at launch only.
inline constexpr std::int64_t most_told = 1 << 20;

// The loops from number i on, and the body. All before it are open.
void loops(Lowering &lowering, const Site &site, std::size_t i);

// A loop of no body yet, whose symbol is its index.
ir::For loop_over(Lowering &lowering, const passes::Symbol &symbol, const passes::Affine &extent, ir::LoopKind kind);
// What is inside of loop i, which is being written. `warm_up`: so many of its iterations come before the first one.
void opened(Lowering &lowering, const Site &site, std::size_t i, std::int64_t warm_up = 0);

// The tests of pieces that may be more than the whole, of the CPU: as soon as the loops from number `from` on are no
// part of them, so that nothing is computed for what is beyond, where something is computed inside of loop `first` or
// those after it. The site that `inside` is given has them no more; `tested`: there were such.
void within_guards(Lowering &lowering, const Site &site, std::size_t first, std::size_t from,
                   const std::function<void(const Site &, bool tested)> &inside);

}  // namespace samite::schedules
