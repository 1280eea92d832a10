// The library's choices for the fields of a plan (ir/tile_plan.h) that depend on a launch's extents and on the device.
// The launcher makes them (jit/variant_key.h), and ready-made operations, which choose their tiles by them, ask the
// same functions.
//
// Pure functions.
#pragma once

#include <cstdint>

namespace samite::passes {

// Whether a launch has several waves of blocks that have a multiprocessor each. Teams and clusters then pay: they hide
// epilogues, and save loads, but take longer to start.
bool has_several_waves(std::int64_t blocks, int multiprocessors);

// The parts in which a launch computes its sums: as many blocks of a cluster, if its main loop can be shared by them
// (passes/sm90/share_steps.h), otherwise as many blocks of a kernel before it (passes/tiles/split_sums.h). 1: no split.
struct AutomaticParts {
  std::int64_t in_cluster = 1, by_kernel = 1;
};
// For blocks of this many steps, each with this many bytes of sums.
AutomaticParts automatic_parts(std::int64_t blocks, std::int64_t steps, std::int64_t bytes_of_sums,
                               int multiprocessors);

}  // namespace samite::passes
