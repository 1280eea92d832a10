#include "samite/passes/threads/side_by_side.h"

#include "samite/base/error.h"
#include "samite/ir/visit.h"
#include "samite/passes/adjoint/exchanges.h"
#include "samite/passes/analysis/neighbours_in_rows.h"
#include "samite/passes/simplify/builder.h"
#include "samite/passes/simplify/rename.h"
#include "samite/passes/simplify/rewrite.h"
#include "samite/passes/threads/place_arrays.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <utility>

namespace samite::passes {

using namespace ir;

namespace {

constexpr std::size_t largest_alone = 8;

// Whether a branch contains only a few operations that compute and load. Then each instance tests its own condition: a
// load that waits only for its condition overlaps with earlier ones, which a branch taken together would prevent.
bool each_may_ask(const If &branch) {
  for (const Block *side : {&branch.then_block, &branch.else_block}) {
    if (side->size() > largest_alone) return false;
    for (const Stmt &stmt : *side) {
      const Let *let = stmt.as<Let>();
      const If *inner = stmt.as<If>();
      if (inner ? !each_may_ask(*inner) : !let || (!info(let->value.op).pure && let->value.op != Op::Load))
        return false;
    }
  }
  return true;
}

// Writes the body of the launch's innermost loop for several instances. A local of the body has a value for each of
// them, or a single one if it is the same for all.
class Jam {
 public:
  Jam(const Kernel &lowered, const For &loop, const SideBySide &choice)
      : choice_(choice),
        rows_(lowered, choice.arrays, Value::local(loop.type, loop.index)),
        first_(Value::local(loop.type, lowered.local_count)),
        own_(static_cast<std::size_t>(choice.instances), std::vector<std::optional<Value>>(lowered.local_count)),
        own_arrays_(own_.size(), std::vector<LocalArrayId>(lowered.local_array_count)),
        builder_(lowered.local_count + 1),
        local_array_count_(lowered.local_array_count) {}

  LocalId local_count() const { return builder_.local_count(); }
  LocalArrayId local_array_count() const { return local_array_count_; }

  // The loop in steps.
  Stmt loop(const For &one_by_one, SourceLocation where) {
    For jammed = one_by_one, rest = one_by_one;
    const Value step = Value::constant(one_by_one.type, choice_.instances);
    builder_.at(where);
    const Value left = builder_(Op::Sub, {one_by_one.end, first_}), whole = builder_(Op::GreaterEqual, {left, step});
    If branch{whole, {}, {}, {}};
    Block outer = builder_.open();
    for (std::size_t copy = 0; copy < own_.size(); ++copy)
      own_[copy][one_by_one.index] = behind_first(static_cast<std::int64_t>(copy));
    jam(one_by_one.body);
    branch.then_block = builder_.close(std::move(outer));
    rest.begin = first_;
    rest.kind = LoopKind::Serial;
    rest.rolled = true;
    branch.else_block.emplace_back(std::move(rest), where);
    builder_.append({std::move(branch), where});
    jammed.index = first_.id();
    jammed.step = step;
    jammed.body = builder_.take();
    return {std::move(jammed), where};
  }

 private:
  using Units = std::vector<Value>;
  using UnitKey = std::pair<std::vector<std::uint64_t>, std::int64_t>;  // the row, and the first element

  std::int64_t count() const { return choice_.instances; }

  Value own(const Value &value, std::size_t copy) const {
    if (!value.is_local() || value.id() >= own_[copy].size()) return value;
    return own_[copy][value.id()].value_or(value);
  }
  bool same(const Value &value) const {
    for (std::size_t copy = 1; copy < own_.size(); ++copy)
      if (!(own(value, copy) == own(value, 0))) return false;
    return true;
  }
  bool same(std::span<const Value> values) const {
    return std::ranges::all_of(values, [&](const Value &value) { return same(value); });
  }
  void for_each_copy(const std::function<void(std::size_t)> &f) {
    for (std::size_t copy = 0; copy < own_.size(); ++copy) f(copy);
  }

  LocalId define(LocalId local, const Type &type, std::size_t copy) {
    const LocalId made = builder_.new_local();
    own_[copy][local] = Value::local(type, made);
    return made;
  }
  void define_once(LocalId local, const Type &type) {
    const LocalId made = builder_.new_local();
    for_each_copy([&](std::size_t copy) { own_[copy][local] = Value::local(type, made); });
  }

  // The first instance's index plus a constant. In this form, a sum is part of the address in an access.
  Value behind_first(std::int64_t by) {
    if (by == 0) return first_;
    const LocalId local = builder_.new_local();
    behind_first_[local] = by;
    builder_.append(
        {Let{local, {Op::Add, first_.type(), {first_, Value::constant(first_.type(), by)}}}, builder_.where()});
    return Value::local(first_.type(), local);
  }
  std::optional<std::int64_t> distance_from_first(const Value &value) const {
    if (value == first_) return 0;
    const auto found = value.is_local() ? behind_first_.find(value.id()) : behind_first_.end();
    return found == behind_first_.end() ? std::nullopt : std::optional(found->second);
  }

  Renaming renaming(std::size_t copy) {
    return {[this, copy](const Value &value) { return own(value, copy); },
            [this, copy](LocalId local) { return own_[copy][local]->id(); },
            [this, copy](LocalArrayId array) { return own_arrays_[copy][array]; },
            [this, copy](const Stmt &before, const Stmt &renamed) { return simpler(before, renamed, copy); }};
  }

  // An element of a loaded unit already has a name. A sum is written as one of the first instance's index.
  Block simpler(const Stmt &before, const Stmt &renamed, std::size_t copy) {
    const Let *let = renamed.as<Let>();
    if (!let) return {renamed};
    if (let->value.op == Op::Load) {
      const Let &old = *before.as<Let>();
      const auto place = constant_place(old);
      const auto found = place ? units_.find(key(*place, static_cast<std::int64_t>(copy))) : units_.end();
      if (found == units_.end()) return {renamed};
      own_[copy][old.local] = element(*place, found->second, static_cast<std::int64_t>(copy));
      return {};
    }
    const auto sum = value_and_constant(let->value);
    const auto distance = sum ? distance_from_first(sum->first) : std::nullopt;
    if (!distance) return {renamed};
    const std::int64_t by = *distance + sum->second;
    if (by == 0) {
      own_[copy][before.as<Let>()->local] = first_;
      return {};
    }
    behind_first_[let->local] = by;
    const Type type = let->value.type;
    return {{Let{let->local, {Op::Add, type, {first_, Value::constant(type, by)}}}, renamed.where()}};
  }

  void append_copy(const Block &block, std::size_t copy) {
    for_each_statement(block, [&](const Stmt &stmt) {
      for_each_definition(stmt, [&](LocalId local, const Type &type) { define(local, type, copy); });
      if (const Allocate *allocate = stmt.as<Allocate>()) own_arrays_[copy][allocate->array] = local_array_count_++;
    });
    for (Stmt &stmt : renamed(block, renaming(copy))) builder_.append(std::move(stmt));
  }
  void append_copies(const Stmt &stmt) {
    for_each_copy([&](std::size_t copy) { append_copy({stmt}, copy); });
  }

  void jam(const Block &block) {
    const auto units = units_;
    const auto coming = coming_;
    for (const Stmt &stmt : block) {
      const Let *let = stmt.as<Let>();
      const auto place = let && let->value.op == Op::Load ? constant_place(*let) : std::nullopt;
      if (place && place->from_index % count() == 0) coming_.insert(key(*place, 0));
    }
    for (const Stmt &stmt : block) jam(stmt);
    units_ = units;
    coming_ = coming;
  }

  void jam(const Stmt &stmt) {
    builder_.at(stmt.where());
    if (const Let *let = stmt.as<Let>()) {
      if (jam_once(*let, stmt) || jam_load(*let, stmt)) return;
    } else if (const If *branch = stmt.as<If>()) {
      if (same(branch->condition) || !each_may_ask(*branch)) return jam(*branch, stmt.where());
    } else if (const For *loop = stmt.as<For>(); loop && same(loop->begin) && same(loop->end) && same(loop->step)) {
      return jam(*loop, stmt.where());
    } else {
      const Accumulate *add = stmt.as<Accumulate>();
      if ((add && jam_sum(*add, stmt.where())) || jam_store(stmt)) return;
    }
    append_copies(stmt);
  }

  bool jam_once(const Let &let, const Stmt &stmt) {
    const bool repeatable = info(let.value.op).pure || let.value.op == Op::Load;
    if (!repeatable || !same(let.value.operands)) return false;
    define_once(let.local, let.value.type);
    for (Stmt &made : renamed({stmt}, renaming(0))) builder_.append(std::move(made));
    return true;
  }

  // If all instances go the same way, they stay together.
  void jam(const If &branch, SourceLocation where) {
    const bool together = same(branch.condition);
    Value all = own(branch.condition, 0);
    for (std::size_t copy = 1; copy < own_.size() && !together; ++copy)
      all = builder_(Op::And, {all, own(branch.condition, copy)});
    If jammed{all, {}, {}, {}};
    auto values = [&](Value BranchResult::*side) {
      std::vector<Value> of_side;
      for (const BranchResult &result : branch.results)
        for_each_copy([&](std::size_t copy) { of_side.push_back(own(result.*side, copy)); });
      return of_side;
    };
    Block outer = builder_.open();
    jam(branch.then_block);
    const std::vector<Value> then_values = values(&BranchResult::then_value);
    jammed.then_block = builder_.close({});
    std::vector<Value> else_values;
    if (together) {
      jam(branch.else_block);
      else_values = values(&BranchResult::else_value);
    } else {
      for_each_copy([&](std::size_t copy) { append_copy({{branch, where}}, copy); });
      for (const BranchResult &result : branch.results)
        for_each_copy([&](std::size_t copy) { else_values.push_back(*own_[copy][result.local]); });
    }
    jammed.else_block = builder_.close(std::move(outer));
    std::size_t first = 0;
    for (const BranchResult &result : branch.results) {
      auto alike = [&](const std::vector<Value> &of_side) {
        const auto own_values = std::span(of_side).subspan(first, own_.size());
        return std::ranges::all_of(own_values, [&](const Value &value) { return value == own_values[0]; });
      };
      const bool once = together && alike(then_values) && alike(else_values);
      if (once) define_once(result.local, result.type);
      for (std::size_t copy = 0; copy < (once ? 1 : own_.size()); ++copy) {
        const LocalId local = once ? own_[0][result.local]->id() : define(result.local, result.type, copy);
        jammed.results.push_back({local, result.type, then_values[first + copy], else_values[first + copy]});
      }
      first += own_.size();
    }
    builder_.append({std::move(jammed), where});
  }

  // All of them iterate together, so that the loads of an iteration serve them all.
  void jam(const For &loop, SourceLocation where) {
    For jammed = loop;
    for (Value For::*bound : {&For::begin, &For::end, &For::step}) jammed.*bound = own(loop.*bound, 0);
    jammed.threads.instances = choice_.instances;
    jammed.carried.clear();
    for (const Carried &carried : loop.carried)
      for_each_copy([&](std::size_t copy) {
        const Value initial = own(carried.initial, copy);
        jammed.carried.push_back({0, 0, carried.type, initial, initial});
      });
    std::size_t i = 0;
    for (const Carried &carried : loop.carried)
      for_each_copy([&](std::size_t copy) { jammed.carried[i++].inner = define(carried.inner, carried.type, copy); });
    define_once(loop.index, loop.type);
    jammed.index = own_[0][loop.index]->id();
    Block outer = builder_.open();
    jam(loop.body);
    jammed.body = builder_.close(std::move(outer));
    i = 0;
    for (const Carried &carried : loop.carried)
      for_each_copy([&](std::size_t copy) { jammed.carried[i++].next = own(carried.next, copy); });
    i = 0;
    for (const Carried &carried : loop.carried)
      for_each_copy([&](std::size_t copy) { jammed.carried[i++].result = define(carried.result, carried.type, copy); });
    builder_.append({std::move(jammed), where});
  }

  // One operation for all of them, instead of consecutive ones on the same element. Not in 16 bits, where each sum
  // would be rounded, nor for sums of the launch, which each thread keeps.
  bool jam_sum(const Accumulate &add, SourceLocation where) {
    const bool rounds = is_floating(add.value.type()) && size_of(add.value.type()) < 4;
    if (!add.atomic || add.over_launch || rounds || !same(add.indices)) return false;
    Accumulate sum = add;
    for (Value &index : sum.indices) index = own(index, 0);
    sum.value = own(add.value, 0);
    for (std::size_t copy = 1; copy < own_.size(); ++copy)
      sum.value = builder_(Op::Add, {sum.value, own(add.value, copy)});
    builder_.append({std::move(sum), where});
    return true;
  }

  // The place of the first instance's element, if all elements are in one row.
  std::optional<PlaceInRow> place_of(std::uint32_t array, std::span<const Value> indices) const {
    return same(indices.first(indices.size() - 1)) ? rows_(array, indices) : std::nullopt;
  }
  std::optional<PlaceInRow> constant_place(const Let &load) const {
    return rows_.constant(load.value.array) ? place_of(load.value.array, load.value.operands) : std::nullopt;
  }
  bool aligned(const PlaceInRow &place) const { return place.from_index % count() == 0; }
  UnitKey key(const PlaceInRow &place, std::int64_t copy) const { return {place.row, place.unit(copy, count())}; }
  Value element(const PlaceInRow &place, const Units &unit, std::int64_t copy) const {
    return unit[static_cast<std::size_t>(place.from_index + copy - place.unit(copy, count()))];
  }

  // The indices of the element `by` after the one with the first instance's index.
  std::vector<Value> indices_in_row(std::span<const Value> indices, std::int64_t by) {
    std::vector<Value> made;
    for (const Value &index : indices.first(indices.size() - 1)) made.push_back(own(index, 0));
    made.push_back(behind_first(by));
    return made;
  }

  Units load_unit(const Operation &load, std::int64_t element, LoadPack::How how) {
    LoadPack pack{{}, load.type, load.array, indices_in_row(load.operands, element), how};
    Units unit;
    for (std::int64_t i = 0; i < count(); ++i) {
      pack.locals.push_back(builder_.new_local());
      unit.push_back(Value::local(load.type, pack.locals.back()));
    }
    builder_.append({std::move(pack), builder_.where()});
    return unit;
  }

  bool jam_load(const Let &let, const Stmt &stmt) {
    const Operation &load = let.value;
    const bool takes = is_plain_exchange(load);
    if (load.op != Op::Load && !takes) return false;
    const auto place = place_of(load.array, load.operands);
    if (!place) return false;
    if (takes || !rows_.constant(load.array)) {
      if (!aligned(*place)) return false;
      const Units unit = load_unit(load, place->from_index, takes ? LoadPack::How::take : LoadPack::How::plain);
      for_each_copy([&](std::size_t copy) { own_[copy][let.local] = unit[copy]; });
      return true;
    }
    // Units with few used elements are not worth their registers: the last of their elements are loaded singly.
    for_each_copy([&](std::size_t copy) {
      const UnitKey unit = key(*place, static_cast<std::int64_t>(copy));
      if (coming_.contains(unit) && !units_.contains(unit))
        units_[unit] = load_unit(load, unit.second, LoadPack::How::constant);
      append_copy({stmt}, copy);
    });
    return true;
  }

  bool jam_store(const Stmt &stmt) {
    const Store *store = stmt.as<Store>();
    const Accumulate *add = stmt.as<Accumulate>();
    if (!store && !add) return false;
    // The hardware adds several f32 at once.
    if (add && add->atomic && (add->value.type() != ScalarType::Float32 || add->over_launch)) return false;
    const std::uint32_t array = store ? store->array : add->array;
    const std::vector<Value> &indices = store ? store->indices : add->indices;
    const auto place = place_of(array, indices);
    if (!place || !aligned(*place)) return false;
    StorePack pack{array, indices_in_row(indices, place->from_index), {}};
    for_each_copy([&](std::size_t copy) { pack.values.push_back(own(store ? store->value : add->value, copy)); });
    if (store)
      pack.how = choice_.streams && !rows_.read(array) ? StorePack::How::streaming : StorePack::How::store;
    else
      pack.how = add->atomic ? StorePack::How::atomic_add : StorePack::How::add;
    builder_.append({std::move(pack), stmt.where()});
    return true;
  }

  const SideBySide &choice_;
  NeighboursInRows rows_;
  Value first_;                                         // the first instance's index
  std::vector<std::vector<std::optional<Value>>> own_;  // by copy and local of the body
  std::vector<std::vector<LocalArrayId>> own_arrays_;   // by copy and local array
  std::unordered_map<LocalId, std::int64_t>
      behind_first_;                // locals that are the first instance's index plus a constant
  std::map<UnitKey, Units> units_;  // of constant arrays: currently loaded ones
  std::set<UnitKey> coming_;        // and later ones, in the open blocks
  Builder builder_;
  LocalArrayId local_array_count_;
};

}  // namespace

Kernel side_by_side(Kernel lowered, const SideBySide &choice) {
  if (choice.instances <= 1 || is_tile_kernel(lowered)) return lowered;
  internal_check(!uses_workspace(lowered), "a workspace of instances that run side by side");
  lowered.body = rewrite(lowered.body, [&](const Stmt &stmt) -> Stmt {
    const For *loop = stmt.as<For>();
    if (!loop || loop->kind != LoopKind::Thread) return stmt;
    Jam jam(lowered, *loop, choice);
    Stmt made = jam.loop(*loop, stmt.where());
    lowered.local_count = jam.local_count();
    lowered.local_array_count = jam.local_array_count();
    return made;
  });
  return lowered;
}

std::int64_t instances_of_thread(const Kernel &planned) {
  std::int64_t instances = 1;
  for_each_statement(planned.body, [&](const Stmt &stmt) {
    const For *loop = stmt.as<For>();
    if (loop && loop->kind == LoopKind::Thread) instances = loop->step.as_int();
  });
  return instances;
}

}  // namespace samite::passes
