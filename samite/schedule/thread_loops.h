// Writes thread loops, and the block-level steps between them.
#pragma once

#include "samite/schedule/sites.h"

namespace samite::schedules {

// From loop i on to the last one of threads.
void thread_loops(Lowering &lowering, const Site &site, std::size_t i);

// A serial loop inside of which the block does something together: it goes through it as one.
void loop_of_block(Lowering &lowering, const Site &site, std::size_t i);

// Outside of the loops of threads, which end before it and are opened again behind it.
void between_threads(Lowering &lowering, const std::function<void()> &contents);

}  // namespace samite::schedules
