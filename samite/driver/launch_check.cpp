#include "samite/driver/launch_check.h"

#include <fmt/format.h>

namespace samite::driver {
namespace {

using Extents = std::array<unsigned, 3>;

std::string text(const Extents &extents) { return fmt::format("{}x{}x{}", extents[0], extents[1], extents[2]); }

std::uint64_t product(const Extents &extents) { return std::uint64_t{extents[0]} * extents[1] * extents[2]; }

[[noreturn]] void refuse(const Origin &origin, const std::string &reason) { throw UserError(origin.prefix() + reason); }

void check_extents(const char *what, const char *unit, const Extents &given, const Extents &most,
                   const Context &context, const Origin &origin) {
  for (std::size_t axis = 0; axis < 3; ++axis) {
    if (given[axis] == 0)
      refuse(origin, fmt::format("a {} of {} has no {}: each extent is at least 1", what, text(given), unit));
    if (given[axis] > most[axis])
      refuse(origin, fmt::format("a {} of {} {} is too large: {} takes up to {}", what, text(given), unit,
                                 context.to_string(), text(most)));
  }
}

void check_cluster(const LaunchShape &shape, const Context &context, const Origin &origin) {
  const LaunchLimits &limits = context.limits();
  const Extents &cluster = *shape.cluster;
  if (!limits.clusters)
    refuse(origin, fmt::format("clusters need a GPU of compute capability 9.0 or newer, and {} has {}.{}",
                               context.to_string(), limits.compute_capability / 10, limits.compute_capability % 10));
  // The architecture's limit is 16. More than 8 is not portable, so the kernel must allow it by name.
  if (product(cluster) == 0 || product(cluster) > 16)
    refuse(origin, fmt::format("a cluster of {} has {} blocks: it may have 1 to 16", text(cluster), product(cluster)));
  for (std::size_t axis = 0; axis < 3; ++axis)
    if (shape.grid[axis] % cluster[axis] != 0)
      refuse(origin,
             fmt::format("a grid of {} blocks is not whole clusters of {}: round the grid up and let the blocks "
                         "beyond the end do nothing",
                         text(shape.grid), text(cluster)));
}

}  // namespace

void check_launch(const LaunchShape &shape, const Context &context, const Origin &origin) {
  const LaunchLimits &limits = context.limits();
  check_extents("grid", "blocks", shape.grid, limits.grid, context, origin);
  check_extents("block", "threads", shape.block, limits.block, context, origin);
  if (product(shape.block) > limits.threads_per_block)
    refuse(origin, fmt::format("a block of {} has {} threads: {} takes up to {}", text(shape.block),
                               product(shape.block), context.to_string(), limits.threads_per_block));
  if (shape.shared_bytes > limits.shared_bytes_opt_in)
    refuse(origin, fmt::format("{} bytes of shared memory for a block are too many: {} has {}", shape.shared_bytes,
                               context.to_string(), limits.shared_bytes_opt_in));
  if (shape.programmatic && limits.compute_capability < 90)
    refuse(origin, fmt::format("programmatic dependent launch needs a GPU of compute capability 9.0 or newer, and {} "
                               "has {}.{}",
                               context.to_string(), limits.compute_capability / 10, limits.compute_capability % 10));
  if (shape.cluster) check_cluster(shape, context, origin);
}

}  // namespace samite::driver
