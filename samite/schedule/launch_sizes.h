// Sizes of shared memory that are known only at launch: the host computes them before it launches the kernel and passes
// them as arguments. The launch requests that much shared memory (passes/plan_tile_memory.h).
#pragma once

#include "samite/ir/kernel.h"
#include "samite/schedule/symbols.h"

#include <functional>
#include <optional>
#include <vector>

namespace samite::schedules {

struct Lowering;

// The most that an integer may be as these loops go through theirs, in terms of what the host knows. Nothing where only
// the kernel can tell.
std::optional<passes::Affine> most_at_launch(Lowering &lowering, const passes::Affine &integer,
                                             const std::vector<OpenLoop> &loops);

// What `write` writes is computed by the host, before the kernel that is written.
void on_host(Lowering &lowering, const std::function<void()> &write);

// The most that the extent may be, whatever the loops that are open are at, and at least 1: a symbol of what the host
// has computed. Nothing where only the kernel can tell.
std::optional<passes::Affine> extent_at_launch(Lowering &lowering, const passes::Affine &extent);

// The product of constants and of what the function above returns, which the host computes. It stops at some 2^28,
// which no device has room for, so that it never wraps round.
ir::Value count_at_launch(Lowering &lowering, const std::vector<passes::Affine> &extents);

// Says where such memory of the kernel begins. What is not there at one time may lie in one place, which is as large as
// the largest of it; one place lies behind another.
void place_at_launch(Lowering &lowering, ir::Kernel &kernel);

}  // namespace samite::schedules
