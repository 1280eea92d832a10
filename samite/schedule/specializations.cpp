#include "samite/schedule/specializations.h"

#include "samite/base/error.h"
#include "samite/schedule/definitions.h"
#include "samite/schedule/sites.h"

#include <fmt/core.h>

#include <algorithm>
#include <utility>

namespace samite::schedules {

using namespace ir;
using passes::Affine;
using passes::Range;
using passes::Symbol;

namespace {

Value condition_value(Lowering &lowering, const Condition &condition) {
  std::map<LocalId, Value> made;
  const auto rename = [&](const Value &value) {
    const auto found = value.is_local() ? made.find(value.id()) : made.end();
    return found == made.end() ? value : found->second;
  };
  for (const Stmt &stmt : condition.body) {
    const Let *let = stmt.as<Let>();
    Operation copy = let->value;
    for (Value &operand : copy.operands) operand = rename(operand);
    made.insert_or_assign(let->local, lowering.write.operation(std::move(copy)));
  }
  return rename(condition.value);
}

// A branch on the host, or inside a kernel.
void either(Lowering &lowering, const Value &condition, const std::function<void()> &then,
            const std::function<void()> &otherwise) {
  if (lowering.kernel.open) {
    If branch{condition, {}, {}, {}};
    lowering.into(branch.then_block, then);
    lowering.into(branch.else_block, otherwise);
    lowering.write.out->emplace_back(std::move(branch), lowering.write.where);
    return;
  }
  lowering.host.flush();
  HostBranch branch{condition, {}, {}};
  Steps *const before = lowering.host.steps;
  const auto into_steps = [&](Steps &steps, const std::function<void()> &write) {
    const auto outer = lowering.storages;
    lowering.host.steps = &steps;
    write();
    lowering.host.flush();
    lowering.storages = outer;
    lowering.host.steps = before;
  };
  into_steps(branch.then_steps, then);
  into_steps(branch.else_steps, otherwise);
  lowering.host.steps->push_back({std::move(branch)});
}

void assume_in(const Lowering &lowering, Extent &extent) {
  extent.begin = lowering.symbols.as_known(extent.begin);
  extent.extent = lowering.symbols.as_known(extent.extent);
}

// A named symbol may be a long form again, which loops cannot use.
void name_long(Lowering &lowering, Extent &extent) {
  constexpr std::size_t most = Affine::most_nodes / 3;
  if (extent.begin.nodes() > most) extent.begin = lowering.integers.bound(extent.begin);
  if (extent.extent.nodes() > most) extent.extent = lowering.integers.bound_extent(extent.extent);
}

// Substitutes the known integers into all forms from here on.
void assume(Lowering &lowering, const Facts &facts) {
  for (const auto &[symbol, range] : facts.ranges) {
    const Range before = lowering.symbols.range_of(symbol);
    lowering.symbols.assumed.known[symbol] = {std::max(range.lower, before.lower), std::min(range.upper, before.upper)};
  }
  for (const auto &[symbol, multiple] : facts.multiples) {
    const Affine count = quotient(Affine(symbol) - multiple.rest, multiple.modulus);
    const Symbol made = lowering.integers.new_symbol();
    lowering.symbols.set_range(made, range_of(count, lowering.symbols.range()));
    lowering.integers.set(made, lowering.integers.value_of(count));
    lowering.symbols.assumed.fixed.insert_or_assign(symbol, Affine(made) * multiple.modulus + multiple.rest);
  }
  for (const auto &[symbol, number] : facts.equal) {
    lowering.symbols.assumed.known[symbol] = {number, number};
    lowering.symbols.assumed.fixed.insert_or_assign(symbol, number);
  }
  for (auto &[local, extent] : lowering.ranges.reductions.extents) assume_in(lowering, extent);
  for (auto &[guard, extent] : lowering.ranges.reductions.guards) extent = lowering.symbols.as_known(extent);
  for (auto &[function, storage] : lowering.storages)
    for (Affine &begin : storage.begin) begin = lowering.symbols.as_known(begin);
}

}  // namespace

void choose(Lowering &lowering, std::uint32_t f, std::size_t n, const Region &region, const DefinitionSchedule &all,
            std::size_t i) {
  const auto with = [&](const DefinitionSchedule &schedule, const Region &known_region) {
    lowering.schedules[f].definitions[n] = schedule;
    define(lowering, {f, n, known_region});
    lowering.schedules[f].definitions[n] = all;
  };
  if (i == all.specializations.size()) {
    DefinitionSchedule rest = all;
    rest.specializations.clear();
    return with(rest, region);
  }
  const DefinitionSchedule &special = all.specializations[i];
  lowering.write.where = lowering.function(f).definitions[n].where;
  if (lowering.open.threads && std::ranges::any_of(reachable(lowering, lowering.function(f).definitions[n], f),
                                                   [&](std::uint32_t called) { return lowering.in_shared(called); }))
    throw UserError(lowering.write.where,
                    fmt::format("'{}' is specialized and computed by each thread, and what it needs is in "
                                "shared memory, which the block fills together; specialize the Func whose "
                                "loops are the block's",
                                lowering.function(f).name));
  const Condition &condition = lowering.algorithm.conditions[special.condition];
  either(
      lowering, condition_value(lowering, condition),
      [&] {
        const Symbols::Assumed assumed = lowering.symbols.assumed;
        const Reductions reductions = lowering.ranges.reductions;
        const std::string name =
            std::exchange(lowering.host.name_end, lowering.host.name_end + fmt::format("_special{}", i));
        assume(lowering, facts_of(condition));
        Region known_region = region;
        for (Extent &extent : known_region) {
          assume_in(lowering, extent);
          name_long(lowering, extent);
        }
        with(special, known_region);
        lowering.host.name_end = name;
        lowering.symbols.assumed = assumed;
        lowering.ranges.reductions = reductions;
      },
      [&] { choose(lowering, f, n, region, all, i + 1); });
}

}  // namespace samite::schedules
