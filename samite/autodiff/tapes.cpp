// The values that a loop's iterations store for its reverse: those that they start with, and those that they overwrite.
#include "samite/autodiff/deriver.h"
#include "samite/base/error.h"

#include <algorithm>
#include <set>

namespace samite::autodiff {

using namespace ir;

// Called at the start of an iteration. `writes` are the logged writes to local arrays. Copied arrays are not logged
// until finish_tapes. The tapes are new, or those of an earlier run `before` of the same iterations.
Deriver::Tapes Deriver::start_tapes(const std::vector<Carried> &carried, const std::vector<LocalWrites> &writes,
                                    Value number, const Tapes *before) {
  Tapes tapes;
  auto allocate = [&](Type type, std::optional<Value> each, SourceLocation assigned) {
    tapes.allocations.push_back({build_.new_local_array(), type, each, describe(carried, assigned, type)});
    return tapes.allocations.back().array;
  };
  for (const Carried &c : carried) {
    if (!keep_.local[c.inner]) continue;
    LocalArrayId tape = before ? before->carried.at(c.inner) : allocate(c.type, std::nullopt, assigned_at(c));
    tapes.carried[c.inner] = tape;
    build_.local_store(tape, number, value(Value::local(c.type, c.inner)));
  }
  for (const LocalWrites &w : writes) {
    constexpr std::int64_t index_bytes = 4;
    const LocalArray &array = *arrays_.latest[w.array];
    if (!w.in_loop && !cheaper_to_copy(w, index_bytes)) continue;
    auto same = [&](const auto &copy) { return copy.first == w.array; };
    LocalArrayId tape =
        before ? std::ranges::find_if(before->copies, same)->second : allocate(array.type, array.size, array.where);
    Value begin = build_(Op::Mul, {number, build_.cast(number.type(), array.size)});
    copy_elements(tape, begin, array.working, Value::zero(number.type()), w.array);
    tapes.copies.push_back({w.array, tape});
    ++arrays_.unlogged[w.array];
  }
  return tapes;
}

// Called at the end of the iteration that wrote `log`.
void Deriver::finish_tapes(Tapes &tapes, const std::vector<Carried> &carried, const UndoLog &log,
                           LocalId first_of_iteration, Value number, const Tapes *before) {
  for (auto &[array, tape] : tapes.copies) --arrays_.unlogged[array];
  const auto places = before ? logged_places(*before) : std::vector<std::pair<LocalArrayId, Type>>();
  tapes.log = map_values(log, [&](const Value &value) {
    if (!value.is_local() || value.id() < first_of_iteration || tapes.logged.contains(value.id())) return value;
    const std::size_t place = tapes.logged.size();
    LocalArrayId tape = 0;
    if (before) {
      internal_check(place < places.size() && places[place].second == value.type(), "another log of the same loop");
      tape = places[place].first;
    } else {
      tape = build_.new_local_array();
      tapes.allocations.push_back({tape, value.type(), std::nullopt, describe(carried, build_.where(), value.type())});
    }
    tapes.logged[value.id()] = tape;
    build_.local_store(tape, number, value);
    return value;
  });
  internal_check(!before || tapes.logged.size() == places.size(), "a shorter log of the same loop");
}

// The tapes of writes that are still to be undone, in the log's order.
std::vector<std::pair<LocalArrayId, Type>> Deriver::logged_places(const Tapes &tapes) const {
  UndoLog log = tapes.log;
  for (LocalArrayId array = 0; array < arrays_.held.size(); ++array)
    if (!arrays_.held[array]) log = without(log, array);
  std::vector<std::pair<LocalArrayId, Type>> places;
  std::set<LocalArrayId> seen;
  map_values(log, [&](const Value &value) {
    auto tape = value.is_local() ? tapes.logged.find(value.id()) : tapes.logged.end();
    if (tape != tapes.logged.end() && seen.insert(tape->second).second) places.push_back({tape->second, value.type()});
    return value;
  });
  return places;
}

KeptValue Deriver::describe(const std::vector<Carried> &carried, SourceLocation assigned, Type type) const {
  KeptValue kept;
  kept.loop = loops_.at.at(&carried);
  kept.assigned = assigned.known() ? assigned : kept.loop;
  kept.type = type;
  return kept;
}

SourceLocation Deriver::assigned_at(const Carried &c) const {
  return c.next.is_local() ? locals_.defined_at[c.next.id()] : SourceLocation();
}

// Called before the loop, whose length is known there. A product beyond 64 bits exceeds any memory, too.
void Deriver::allocate_tapes(const Tapes &tapes, Value length, const std::vector<Carried> &carried, KeptFor kept_for) {
  for (const Tapes::Allocation &allocation : tapes.allocations)
    allocate_kept(allocation.array, length, allocation.each, carried, kept_for, allocation.kept);
}

void Deriver::allocate_kept(LocalArrayId array, Value length, std::optional<Value> each,
                            const std::vector<Carried> &carried, KeptFor kept_for, KeptValue kept) {
  kept.kept_for = kept_for;
  kept.elements = kept.type.count();
  if (each && each->is_constant()) kept.elements = each->as_int() * kept.type.count();
  if (each && !each->is_constant()) kept.elements = std::nullopt;
  if (length.is_constant()) kept.length = length.as_int();
  loops_.planned.push_back({array, &carried, kept});
  Value size = length;
  if (each) size = build_(Op::Mul, {build_.cast(ScalarType::Int64, length), build_.cast(ScalarType::Int64, *each)});
  build_.append({Allocate{array, kept.type, size}, build_.where()});
}

// Undoes the writes of an iteration, from its end to its start.
void Deriver::take_back_iteration(const Tapes &tapes, Value number) {
  for (auto &[array, tape] : tapes.copies) {
    if (!arrays_.held[array]) continue;
    const LocalArray &known = *arrays_.latest[array];
    Value begin = build_(Op::Mul, {number, build_.cast(number.type(), known.size)});
    copy_elements(known.working, Value::zero(number.type()), tape, begin, array);
  }
  take_back(tapes.log, [&](const Value &value) {
    if (!value.is_local()) return value;
    auto tape = tapes.logged.find(value.id());
    return tape == tapes.logged.end() ? value : build_.local_load(value.type(), tape->second, number);
  });
}

}  // namespace samite::autodiff
