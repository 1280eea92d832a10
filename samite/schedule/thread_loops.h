// Writes thread loops, and the block-level steps between them.
#pragma once

#include "samite/schedule/sites.h"

namespace samite::schedules {

// Writes loop i and the following ones, up to the last thread loop.
void thread_loops(Lowering &lowering, const Site &site, std::size_t i);

// Writes a serial loop that contains block-level steps: the block's threads iterate together.
void loop_of_block(Lowering &lowering, const Site &site, std::size_t i);

// Writes outside of the thread loops: they end before `contents`, and are reopened after it.
void between_threads(Lowering &lowering, const std::function<void()> &contents);

}  // namespace samite::schedules
