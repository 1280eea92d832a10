#include "samite/passes/tiles/automatic_plan.h"

#include "samite/passes/sm90/share_steps.h"
#include "samite/passes/tiles/split_sums.h"

namespace samite::passes {

bool has_several_waves(std::int64_t blocks, int multiprocessors) { return blocks >= std::int64_t{2} * multiprocessors; }

AutomaticParts automatic_parts(std::int64_t blocks, std::int64_t steps, std::int64_t bytes_of_sums,
                               int multiprocessors) {
  // Two parts of each block must fit the device at a time.
  if (blocks == 0 || 2 * blocks > multiprocessors) return {};
  return {parts_of_steps(blocks, steps, multiprocessors), parts_of_sums(blocks, steps, bytes_of_sums, multiprocessors)};
}

}  // namespace samite::passes
