#include "samite/schedule/meeting_iterations.h"

#include "samite/base/error.h"
#include "samite/ir/print.h"
#include "samite/passes/simplify/fold.h"
#include "samite/schedule/copy_statements.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>

namespace samite::schedules {

using namespace ir;
using passes::Affine;
using passes::Symbol;

namespace {

bool in_any_order(LoopType type) {
  return type == LoopType::vectorized || type == LoopType::parallel || type == LoopType::gpu_block ||
         type == LoopType::gpu_thread;
}

// Whether the condition of the update excludes iterations of this loop.
bool is_chosen(const Lowering &lowering, const Site &site, const NestLoop &loop) {
  if (!site.definition.predicate) return false;
  const std::set<LocalId> used = dependencies_of(site.definition.body, {*site.definition.predicate});
  return std::ranges::any_of(site.nest.variables, [&](const auto &variable) {
    return used.contains(variable.first) &&
           lowering.symbols.depends_on(variable.second, [&](const auto &symbol) { return symbol == loop.symbol; });
  });
}

// An index in one iteration of the loop: a number, or an expression that this iteration does not change. Equal
// expressions are equal numbers.
class AtIteration {
 public:
  AtIteration(const Lowering &lowering, const Site &site, const Symbol &loop, int iteration)
      : lowering_(lowering), site_(site), loop_(loop), iteration_(iteration) {}

  std::string text(const Value &value) { return to_string(at(value)); }

 private:
  struct Known {
    std::optional<Value> number;
    std::string text{};
  };
  static std::string to_string(const Known &known) {
    return known.number ? ir::to_string(*known.number, {}) : known.text;
  }

  Known at(const Value &value) {
    if (value.is_constant()) return {value};
    if (const Affine form = in_loops(lowering_, site_, value).substitute(loop_, iteration_); form.known()) {
      if (form.is_constant()) return {Value::constant(value.type(), form.constant())};
      return {{}, passes::to_string(form)};
    }
    const Operation *operation = site_.forms.operation(value);
    if (!operation) return {{}, fmt::format("v{}", value.is_local() ? value.id() : value.parameter_index())};
    Operation copy = *operation;
    bool all = true;
    std::string text = fmt::format("{} {} {} {}(", static_cast<int>(copy.op), static_cast<int>(copy.type.element()),
                                   copy.array, copy.attribute);
    for (Value &operand : copy.operands) {
      const Known known = at(operand);
      all = all && known.number;
      if (known.number) operand = *known.number;
      text += to_string(known) + ",";
    }
    if (all && info(copy.op).pure)
      if (const auto folded = passes::fold(copy); folded && folded->is_constant()) return {folded};
    return {{}, text + ")"};
  }

  const Lowering &lowering_;
  const Site &site_;
  const Symbol loop_;
  const int iteration_;
};

// Two iterations that update one element; empty if none are found.
std::optional<std::pair<int, int>> meeting(const Lowering &lowering, const Site &site, const NestLoop &loop) {
  constexpr std::int64_t most_tried = 17;
  const std::int64_t count = loop.extent.is_constant() ? std::min(loop.extent.constant(), most_tried) : most_tried;
  std::vector<std::string> seen;
  for (int i = 0; i < count; ++i) {
    std::string element;
    for (const Value &index : site.definition.indices)
      element += AtIteration(lowering, site, loop.symbol, i).text(index) + ";";
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
