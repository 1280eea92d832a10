#include "samite/ir/element_plan.h"

#include <fmt/format.h>

#include <array>
#include <string_view>

namespace samite::ir {

std::string to_string(const ElementPlan &plan, const std::function<std::string(const Value &)> &value,
                      const std::function<std::string(std::uint32_t)> &array) {
  constexpr std::array<std::string_view, 3> kinds{"load", "store", "add"};
  const auto local = [&](LocalId id) { return value(Value::local(ScalarType::Bool, id)); };
  const auto number = [](std::string_view word, int count) {
    return count == 0 ? std::string() : fmt::format(" {} {}", word, count);
  };
  std::string groups, bounds;
  for (const ElementPlan::Group &group : plan.groups) {
    groups += fmt::format("{}{} {}", groups.empty() ? "" : " and ", kinds.at(static_cast<std::size_t>(group.kind)),
                          group.load ? local(*group.load) : array(group.array));
    if (group.along_rows) {
      std::string dimensions;
      for (const std::size_t d : *group.along_rows)
        dimensions += fmt::format("{}{}", dimensions.empty() ? "" : ", ", d);
      groups += fmt::format(" rows ({})", dimensions);
    }
    groups += group.in_quads ? " in_quads" : "";
    groups += group.in_units ? " in_units" : "";
    if (group.unrounded) groups += " rounds " + value(*group.unrounded);
    if (group.bound) groups += " if " + local(*group.bound);
  }
  for (const LocalId bound : plan.bounds) bounds += (bounds.empty() ? "" : ", ") + local(bound);
  return number("interleaved", plan.interleaved) + (plan.by_rows ? " by_rows" : "") +
         (groups.empty() ? "" : fmt::format(" together ({})", groups)) +
         (bounds.empty() ? "" : fmt::format(" bounds ({})", bounds)) + number("corners", plan.corners) +
         (plan.in_packs ? " in_packs" : "") + number("rotates", plan.rotates);
}

}  // namespace samite::ir
