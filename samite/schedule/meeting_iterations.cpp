#include "samite/schedule/meeting_iterations.h"

#include "samite/base/error.h"
#include "samite/schedule/copy_statements.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

namespace samite::schedules {

using namespace ir;
using passes::Affine;

namespace {

bool in_any_order(LoopType type) {
  return type == LoopType::vectorized || type == LoopType::parallel || type == LoopType::gpu_block ||
         type == LoopType::gpu_thread;
}

// Whether the condition of the update leaves out iterations of this loop.
bool is_chosen(const Lowering &lowering, const Site &site, const NestLoop &loop) {
  if (!site.definition.predicate) return false;
  const std::set<LocalId> used = dependencies_of(site.definition.body, {*site.definition.predicate});
  return std::ranges::any_of(site.nest.variables, [&](const auto &variable) {
    return used.contains(variable.first) &&
           lowering.symbols.depends_on(variable.second, [&](const auto &symbol) { return symbol == loop.symbol; });
  });
}

// Two iterations that update one element; nothing where none are seen.
std::optional<std::pair<int, int>> meeting(const Lowering &lowering, const Site &site, const NestLoop &loop) {
  constexpr std::int64_t most_tried = 17;
  std::vector<Affine> indices;
  for (const Value &index : site.definition.indices) {
    indices.push_back(in_loops(lowering, site, index));
    if (!indices.back().known()) return std::nullopt;
  }
  const std::int64_t count = loop.extent.is_constant() ? std::min(loop.extent.constant(), most_tried) : most_tried;
  std::vector<std::vector<Affine>> seen;
  for (int i = 0; i < count; ++i) {
    std::vector<Affine> element;
    for (const Affine &index : indices) element.push_back(index.substitute(loop.symbol, i));
    if (!std::ranges::all_of(element, &Affine::known)) return std::nullopt;
    const auto same = std::ranges::find(seen, element);
    if (same != seen.end()) return std::pair(static_cast<int>(same - seen.begin()), i);
    seen.push_back(std::move(element));
  }
  return std::nullopt;
}

}  // namespace

void refuse_meeting_iterations(const Lowering &lowering, const Site &site) {
  if (!site.schedule.unordered || site.schedule.atomic || site.number == 0) return;
  for (const NestLoop &loop : site.nest.loops) {
    if (!in_any_order(loop.type) || is_chosen(lowering, site, loop)) continue;
    const auto both = meeting(lowering, site, loop);
    if (!both) continue;
    throw UserError(
        loop.where,
        fmt::format("iterations {} and {} of loop '{}' update one element of '{}', and may do so at the "
                    "same time; allow_race_conditions() promises that no two do. Say update().atomic(), "
                    "keep that loop serial, or go through partial results: update().rfactor(loop, variable)",
                    both->first, both->second, loop.name, lowering.function(site.function).name));
  }
}

}  // namespace samite::schedules
