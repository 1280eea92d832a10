#include "samite/schedule/definitions.h"

#include "samite/base/error.h"
#include "samite/schedule/countable_loops.h"
#include "samite/schedule/deal_out.h"
#include "samite/schedule/loops.h"
#include "samite/schedule/meeting_iterations.h"
#include "samite/schedule/sites.h"
#include "samite/schedule/specializations.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

namespace samite::schedules {

using namespace ir;

namespace {

void refuse_blocks(const Lowering &lowering, const Defined &what) {
  if (!lowering.kernel.open) return;
  for (const Loop &loop : lowering.schedules[what.function].definitions[what.definition].loops)
    if (loop.type == LoopType::gpu_block)
      throw UserError(loop.where, fmt::format("loop '{0}' of '{1}' is one of blocks, and '{1}' is computed inside of "
                                              "a kernel; make it one of threads, or compute '{1}' at the root",
                                              loop.name, lowering.function(what.function).name));
}

Site site_of(Lowering &lowering, const Defined &what, const std::vector<passes::Symbol> &outermost) {
  return site_of(lowering, what.function, what.definition,
                 lowering.schedules[what.function].definitions[what.definition], what.region, {}, outermost);
}

// With the names of the definitions that share its loops; empty for a single first definition.
std::string heading_of(const Lowering &lowering, const Defined &what, const std::vector<Defined> &followers) {
  std::vector<std::string> names;
  bool update = false;
  const auto add = [&](const Defined &of) {
    const std::string &name = lowering.function(of.function).name;
    update = update || of.definition > 0;
    names.push_back(of.definition > 0 ? fmt::format("update {} of {}", of.definition - 1, name) : name);
  };
  add(what);
  for (const Defined &follower : followers) add(follower);
  return update ? fmt::format("{}", fmt::join(names, " and ")) : "";
}

}  // namespace

void define(Lowering &lowering, const Defined &what, const std::vector<Defined> &followers) {
  const auto [f, n, region] = what;
  const DefinitionSchedule &schedule = lowering.schedules[f].definitions[n];
  if (!schedule.specializations.empty()) return choose(lowering, f, n, region, DefinitionSchedule(schedule), 0);
  lowering.write.where = lowering.function(f).definitions[n].where;
  refuse_blocks(lowering, what);
  for (const Defined &follower : followers) refuse_blocks(lowering, follower);
  const bool together = lowering.kernel.open && !lowering.open.threads && !lowering.open.lanes &&
                        lowering.kernel.block_fills && !has_type(schedule, LoopType::gpu_thread);
  if (together) {
    const DefinitionSchedule dealt = dealt_out(lowering, f, n, region);
    loops(lowering, site_of(lowering, f, n, dealt, region, {}), 0);
    for (const Defined &follower : followers) define(lowering, follower);
    return;
  }
  Site site = site_of(lowering, what, {});
  require_countable_loops(lowering, site);
  refuse_meeting_iterations(lowering, site);
  if (followers.empty()) return loops(lowering, site, 0);
  std::vector<Follower> sites;
  for (const Defined &follower : followers) {
    const Leader &leader = *lowering.schedules[follower.function].definitions[follower.definition].leader;
    sites.push_back({site_of(lowering, follower, symbols_of(site, leader.loops)), leader.loops, leader.where});
    require_countable_loops(lowering, sites.back().site);
    refuse_meeting_iterations(lowering, sites.back().site);
  }
  loops(lowering, with_followers(lowering, std::move(site), std::move(sites)), 0);
}

void compute(Lowering &lowering, std::uint32_t f, const Region &region) { compute(lowering, {{f, region}}); }

void compute(Lowering &lowering, const std::vector<Computed> &functions) {
  const auto define_all = [&](const Defined &what, const std::vector<Defined> &followers) {
    std::string heading = heading_of(lowering, what, followers);
    const int line =
        heading.empty() ? -1 : lowering.nest.open_heading({std::move(heading), lowering.function(what.function).name});
    define(lowering, what, followers);
    lowering.nest.close(line);
  };
  std::vector<std::size_t> next(functions.size());
  const auto alone = [&](std::size_t which, std::size_t end) {
    const auto &[f, region] = functions[which];
    for (std::size_t &n = next[which]; n < end; ++n)
      if (!lowering.function(f).definitions[n].undefined) define_all({f, n, region}, {});
  };
  const auto count = [&](std::size_t which) { return lowering.function(functions[which].function).definitions.size(); };
  const auto &[first, region] = functions[0];
  while (next[0] < count(0)) {
    const std::size_t n = next[0];
    std::vector<Defined> followers;
    for (std::size_t which = 1; which < functions.size(); ++which)
      for (std::size_t k = next[which]; k < count(which); ++k) {
        const auto &leader = lowering.schedules[functions[which].function].definitions[k].leader;
        if (!leader || leader->function != first || leader->definition != n) continue;
        alone(which, k);
        if (lowering.function(first).definitions[n].undefined ||
            lowering.function(functions[which].function).definitions[k].undefined)
          continue;
        followers.push_back({functions[which].function, k, functions[which].region});
        next[which] = k + 1;
      }
    if (followers.empty()) {
      alone(0, n + 1);
    } else {
      define_all({first, n, region}, followers);
      next[0] = n + 1;
    }
  }
  for (std::size_t which = 1; which < functions.size(); ++which) alone(which, count(which));
}

}  // namespace samite::schedules
