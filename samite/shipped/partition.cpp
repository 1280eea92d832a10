#include "samite/shipped/partition.h"

#include "samite/runtime/task_pool.h"

#include <algorithm>
#include <cmath>

namespace samite::shipped {
namespace {

// About ten microseconds of a thread, several times the cost of handing work to another one.
constexpr double worthwhile_operations = 200'000;

// Streaming needs boxes of at least this many instances for hardware prefetch.
constexpr std::int64_t minimum_row = 256;

// Instances of more operations are long enough on their own.
constexpr double long_instance = 64;

}  // namespace

Partition partition(const Extents &extents, double cost, int lanes, bool interruptible) {
  const double operations = static_cast<double>(extents.count()) * cost / lanes;
  if (operations < worthwhile_operations) return {0, 0, true};
  const int workers = worker_count();
  if (workers == 1 && !interruptible) return {0, 0, true};
  // The outermost dimension that gives every thread several boxes, otherwise the longest one.
  const std::int64_t several_each = std::int64_t{4} * workers;
  int last = extents.rank() - 1, dimension = 0;
  while (dimension < last && extents[dimension] < several_each) ++dimension;
  if (extents[dimension] < several_each)
    for (int d = 0; d <= last; ++d)
      if (extents[d] > extents[dimension]) dimension = d;
  const double share = std::ceil(static_cast<double>(extents[dimension]) * worthwhile_operations / operations);
  auto minimum = std::max<std::int64_t>(1, static_cast<std::int64_t>(share));
  if (dimension == last) {
    const std::int64_t row = cost > long_instance || lanes == 1 ? lanes : std::max<std::int64_t>(minimum_row, lanes);
    minimum = (minimum + row - 1) / row * row;
  }
  return {dimension, minimum, minimum >= extents[dimension]};
}

}  // namespace samite::shipped
