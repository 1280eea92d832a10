#include "samite/schedule/launch_sizes.h"

#include "samite/passes/simplify/rewrite.h"
#include "samite/passes/tiles/plan_tile_memory.h"
#include "samite/schedule/lowering.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>

namespace samite::schedules {

using namespace ir;
using passes::Affine;
using passes::Symbol;

namespace {

constexpr std::int64_t most_elements = std::int64_t{1} << 28;

Value value_on_host(Lowering &lowering, const std::function<Value()> &value) {
  Value result = number(0);
  on_host(lowering, [&] { result = value(); });
  return result;
}

Affine symbol_of(Lowering &lowering, const Value &value, const passes::Range &range) {
  const Symbol symbol = lowering.integers.new_symbol();
  lowering.integers.set(symbol, value);
  lowering.symbols.set_range(symbol, range);
  return symbol;
}

bool known_by_host(const Lowering &lowering, const Symbol &symbol) {
  if (symbol.kind == Symbol::Kind::Parameter || symbol.kind == Symbol::Kind::Extent) return true;
  const std::optional<Value> value = lowering.integers.known_here(symbol);
  return value && (!value->is_local() || value->id() < lowering.kernel.first_local);
}

// In terms of loops and of host values, replacing derived symbols.
Affine expanded(const Lowering &lowering, Affine form) {
  for (bool changed = true; changed && form.known();) {
    changed = false;
    std::optional<std::pair<Symbol, Affine>> made;
    form.for_each_symbol([&](const Symbol &symbol) {
      if (made || known_by_host(lowering, symbol)) return;
      if (const Affine *stands_for = lowering.symbols.stands_for(symbol)) made.emplace(symbol, *stands_for);
    });
    if (!made) break;
    form = form.substitute(made->first, made->second);
    changed = true;
  }
  return form;
}

// In terms of host values, or empty.
std::optional<Affine> for_host(Lowering &lowering, const Affine &of) {
  Affine form = expanded(lowering, of);
  for (;;) {
    if (!form.known()) return std::nullopt;
    std::optional<Symbol> unknown;
    form.for_each_symbol([&](const Symbol &symbol) {
      if (!unknown && !known_by_host(lowering, symbol)) unknown = symbol;
    });
    if (!unknown) return form;
    const Derived *derived = lowering.symbols.derived(*unknown);
    if (!derived) return std::nullopt;
    std::vector<Affine> operands;
    for (const Affine &operand : derived->operands) {
      const std::optional<Affine> on_host = for_host(lowering, operand);
      if (!on_host) return std::nullopt;
      operands.push_back(*on_host);
    }
    const Value value = value_on_host(lowering, [&] {
      if (derived->function)
        return lowering.integers.value_of(
            lowering.integers.derived_once({Op::Copy, operands, derived->range, derived->function}));
      return lowering.write(derived->op, lowering.integers.value_of(operands[0]),
                            lowering.integers.value_of(operands[1]));
    });
    form = form.substitute(*unknown, symbol_of(lowering, value, lowering.symbols.range_of(*unknown)));
  }
}

// Allocations that reuse one place.
using Turns = std::vector<const passes::PlacedTile *>;

std::vector<Turns> in_turn(const passes::TileMemoryPlan &plan) {
  std::vector<Turns> places;
  for (const passes::PlacedTile &tile : plan.tiles) {
    if (!tile.sized_at_launch) continue;
    const auto free = std::ranges::find_if(places, [&](const Turns &place) { return place.back()->last < tile.first; });
    if (free == places.end())
      places.push_back({&tile});
    else
      free->push_back(&tile);
  }
  return places;
}

// The number of units that it takes.
Value units_of(Lowering &lowering, const passes::PlacedTile &tile) {
  const std::int64_t in_one = Allocate::unit_bytes / static_cast<std::int64_t>(size_of(tile.type));
  return lowering.write(Op::Div, lowering.write(Op::Add, tile.size.value(), number(in_one - 1)), number(in_one));
}

}  // namespace

void on_host(Lowering &lowering, const std::function<void()> &write) {
  Block *const before = std::exchange(lowering.write.out, &lowering.host.statements);
  write();
  lowering.write.out = before;
}

std::optional<Affine> most_at_launch(Lowering &lowering, const Affine &integer, const std::vector<OpenLoop> &loops) {
  const Affine whole = expanded(lowering, integer);
  if (!whole.known()) return std::nullopt;
  const passes::Interval all = lowering.symbols.over_loops({whole, whole}, loops);
  return all.upper.known() ? for_host(lowering, all.upper) : std::nullopt;
}

std::optional<Affine> extent_at_launch(Lowering &lowering, const Affine &extent) {
  const std::optional<Affine> form = most_at_launch(lowering, extent, lowering.open.all);
  if (!form) return std::nullopt;
  constexpr passes::Range of_32_bits{std::numeric_limits<std::int32_t>::min(),
                                     std::numeric_limits<std::int32_t>::max()};
  const Value value = value_on_host(lowering, [&] {
    if (of_32_bits.contains(range_of(*form, lowering.symbols.range())))
      return lowering.write(Op::Max, lowering.integers.value_of(*form), number(1));
    // In 32 bits it might wrap around to a number for which there is memory.
    const auto wide = [](std::int64_t of) { return Value::constant(ScalarType::Int64, of); };
    const Value exact = lowering.write(Op::Max, lowering.integers.wide_value_of(*form), wide(1));
    return lowering.write.converted(lowering.write(Op::Min, exact, wide(most_elements)), ScalarType::Int32);
  });
  return symbol_of(lowering, value, {1, most_elements});
}

Value count_at_launch(Lowering &lowering, const std::vector<Affine> &extents) {
  return value_on_host(lowering, [&] {
    Value all = number(1);
    for (const Affine &extent : extents) {
      const Value fits = lowering.write(Op::Add, lowering.write(Op::Div, number(most_elements), all), number(1));
      all = lowering.write(Op::Mul, all, lowering.write(Op::Min, lowering.integers.value_of(extent), fits));
    }
    return all;
  });
}

void place_at_launch(Lowering &lowering, Kernel &kernel) {
  const passes::TileMemoryPlan plan = passes::plan_tile_memory(kernel);
  if (!plan.sized_at_launch()) return;
  std::map<LocalArrayId, Value> begins;
  on_host(lowering, [&] {
    Value begin = number(0);
    for (const Turns &place : in_turn(plan)) {
      Value most = number(0);
      for (const passes::PlacedTile *tile : place) {
        begins.emplace(tile->array, begin);
        most = lowering.write(Op::Max, most, units_of(lowering, *tile));
      }
      begin = lowering.write(Op::Add, begin, most);
    }
  });
  kernel.body = passes::rewrite(kernel.body, [&](const Stmt &stmt) -> Stmt {
    const Allocate *allocate = stmt.as<Allocate>();
    if (!allocate || !allocate->sized_at_launch()) return stmt;
    Allocate placed = *allocate;
    placed.units = begins.at(allocate->array);
    return {placed, stmt.where()};
  });
}

}  // namespace samite::schedules
