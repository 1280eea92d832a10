// Sizes of shared memory that are known only at launch: the host computes them before it launches the kernel and passes
// them as arguments. The launch requests that much shared memory (passes/tiles/plan_tile_memory.h).
#pragma once

#include "samite/ir/kernel.h"
#include "samite/schedule/symbols.h"

#include <functional>
#include <optional>
#include <vector>

namespace samite::schedules {

struct Lowering;

// The greatest value of an integer over the iterations of these loops, in terms of values that the host knows. Nothing
// if only the kernel can compute it.
std::optional<passes::Affine> most_at_launch(Lowering &lowering, const passes::Affine &integer,
                                             const std::vector<OpenLoop> &loops);

// Makes the host compute the statements of `write`, before the kernel that is being written.
void on_host(Lowering &lowering, const std::function<void()> &write);

// The greatest value of the extent over all open loops, at least 1 and, beyond 32 bits, at most 2^28: a symbol for the
// host's result. Nothing if only the kernel can compute it.
std::optional<passes::Affine> extent_at_launch(Lowering &lowering, const passes::Affine &extent);

// The product of constants and of results of the function above, which the host computes. It saturates at about 2^28,
// more than any device has, so that it never wraps around.
ir::Value count_at_launch(Lowering &lowering, const std::vector<passes::Affine> &extents);

// Sets the offsets of such memory of the kernel. Buffers that are not live at the same time share a region, which is as
// large as the largest of them; regions follow one another.
void place_at_launch(Lowering &lowering, ir::Kernel &kernel);

}  // namespace samite::schedules
