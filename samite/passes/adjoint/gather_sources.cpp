#include "samite/passes/adjoint/gather_sources.h"

#include <algorithm>

namespace samite::passes {
namespace {

constexpr std::int64_t largest_offset = 4;

// One way for a map to reach t in one dimension.
struct Way {
  std::int64_t shift;
  std::optional<Condition> condition;
};

std::vector<Way> ways(const IndexMap &map) {
  using Kind = Condition::Kind;
  const int d = map.dimension;
  const std::int64_t c = map.offset;
  if (c == 0) return {{0, std::nullopt}};
  std::vector<Way> found{{-c, c > 0 ? Condition{d, Kind::AtLeast, c} : Condition{d, Kind::Before, -c}}};
  // Clamped indices: i + c < 0 for all i below -c, which become 0; likewise at the other end.
  if (c < 0 && map.from_first)
    for (std::int64_t i = 0; i < -c; ++i) found.push_back({i, Condition{d, Kind::First, i}});
  if (c > 0 && map.until)
    for (std::int64_t i = 0; i < c; ++i) found.push_back({-i, Condition{d, Kind::Last, i}});
  return found;
}

}  // namespace

bool Source::at_edges_only() const {
  return std::any_of(conditions.begin(), conditions.end(), [](const Condition &condition) {
    return condition.kind == Condition::Kind::First || condition.kind == Condition::Kind::Last;
  });
}

std::vector<Source> sources_of(const std::vector<IndexMap> &maps) {
  std::vector<Source> sources{Source{}};
  for (const IndexMap &map : maps) {
    if (std::abs(map.offset) > largest_offset) return {};
    std::vector<Source> more;
    for (const Source &source : sources)
      for (const Way &way : ways(map)) {
        Source next = source;
        next.shift[static_cast<std::size_t>(map.dimension)] = way.shift;
        if (way.condition) next.conditions.push_back(*way.condition);
        more.push_back(std::move(next));
      }
    sources = std::move(more);
  }
  return sources;
}

}  // namespace samite::passes
