// The loops of a definition, one inside of the other.
#pragma once

#include "samite/schedule/sites.h"

namespace samite::schedules {

inline constexpr std::int64_t most_iterations = 1 << 30;  // from here on as many as a launch says

// The loops from number i on, and the body. All before it are open.
void loops(Lowering &lowering, const Site &site, std::size_t i);

// A loop of no body yet, whose symbol is its index.
ir::For loop_over(Lowering &lowering, const passes::Symbol &symbol, const passes::Affine &extent, ir::LoopKind kind);
// What is inside of loop i, which is being written.
void opened(Lowering &lowering, const Site &site, std::size_t i);

}  // namespace samite::schedules
