// Writes the loops of a definition, one inside the other.
#pragma once

#include "samite/schedule/sites.h"

namespace samite::schedules {

inline constexpr std::int64_t most_iterations = 1 << 30;  // a larger extent depends on the launch

// Larger bounds follow only from the ranges of types and tell the user nothing: messages call them known only at
// launch.
inline constexpr std::int64_t most_told = 1 << 20;

// Writes the loops from number i on, and the body. All loops before it are open.
void loops(Lowering &lowering, const Site &site, std::size_t i);

// A loop without a body, whose index is the symbol.
ir::For loop_over(Lowering &lowering, const passes::Symbol &symbol, const passes::Affine &extent, ir::LoopKind kind);
// Writes the contents of loop i, which is being written. `warm_up`: the number of its iterations before the first one.
void opened(Lowering &lowering, const Site &site, std::size_t i, std::int64_t warm_up = 0);

// For the CPU: tests the guards of pieces that may exceed the whole as soon as they no longer depend on the loops from
// number `from` on, so that nothing is computed beyond the whole. Only if something is computed inside loop `first` or
// a later one. The site passed to `inside` has those guards no more; `tested`: there were any.
void within_guards(Lowering &lowering, const Site &site, std::size_t first, std::size_t from,
                   const std::function<void(const Site &, bool tested)> &inside);

}  // namespace samite::schedules
