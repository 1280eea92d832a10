#include "samite/schedule/definitions.h"

#include "samite/base/error.h"
#include "samite/schedule/deal_out.h"
#include "samite/schedule/loops.h"
#include "samite/schedule/sites.h"
#include "samite/schedule/specializations.h"

#include <fmt/core.h>

namespace samite::schedules {

using namespace ir;

void define(Lowering &lowering, std::uint32_t f, std::size_t n, const Region &region,
            const std::set<std::size_t> &whole_pieces) {
  if (const DefinitionSchedule &all = lowering.schedules[f].definitions[n]; !all.specializations.empty())
    return choose(lowering, f, n, region, DefinitionSchedule(all), 0);
  lowering.write.where = lowering.function(f).definitions[n].where;
  const DefinitionSchedule &schedule = lowering.schedules[f].definitions[n];
  if (lowering.kernel.open)
    for (const Loop &loop : schedule.loops)
      if (loop.type == LoopType::gpu_block)
        throw UserError(loop.where, fmt::format("loop '{0}' of '{1}' is one of blocks, and '{1}' is computed inside of "
                                                "a kernel; make it one of threads, or compute '{1}' at the root",
                                                loop.name, lowering.function(f).name));
  const bool together = lowering.kernel.open && !lowering.open.threads && !lowering.open.lanes &&
                        lowering.kernel.block_fills && !has_type(schedule, LoopType::gpu_thread);
  if (together) {
    const DefinitionSchedule dealt = dealt_out(lowering, f, n, region);
    const Site site = site_of(lowering, f, n, dealt, region, whole_pieces);
    return loops(lowering, site, 0);
  }
  const Site site = site_of(lowering, f, n, schedule, region, whole_pieces);
  loops(lowering, site, 0);
}

void compute(Lowering &lowering, std::uint32_t f, const Region &region) {
  for (std::size_t n = 0; n < lowering.function(f).definitions.size(); ++n) {
    if (lowering.function(f).definitions[n].undefined) continue;
    const int line =
        n > 0 ? lowering.nest.open_heading(fmt::format("update {} of {}", n - 1, lowering.function(f).name)) : -1;
    define(lowering, f, n, region, {});
    lowering.nest.close(line);
  }
}

}  // namespace samite::schedules
