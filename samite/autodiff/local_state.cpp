// Local arrays in the adjoint: the working array of the recomputation, the log by which its writes are undone, and the
// gradients of its elements.
#include "samite/autodiff/deriver.h"

#include <algorithm>
#include <ranges>

namespace samite::autodiff {

using namespace ir;

void Deriver::recompute_allocate(const Allocate &allocate) {
  Value size = value(allocate.size);
  arrays_.latest[allocate.array] = {allocate.type, size, build_.allocate(allocate.type, size), std::nullopt,
                                    build_.where()};
  arrays_.held[allocate.array] = true;
}

void Deriver::recompute_store(const LocalStore &store) {
  if (!arrays_.held[store.array]) return;
  const LocalArray &array = *arrays_.latest[store.array];
  Value index = value(store.index);
  if (logs(store.array))
    undo_.log.push_back(
        {UndoStore{store.array, array.type, index, build_.local_load(array.type, array.working, index)}});
  build_.local_store(array.working, index, value(store.value));
}

std::vector<LocalWrites> Deriver::logged_writes(std::initializer_list<const Block *> blocks) const {
  std::vector<LocalWrites> logged;
  for (const LocalWrites &writes : local_writes(blocks))
    if (logs(writes.array)) logged.push_back(writes);
  return logged;
}

// Whether a copy of the array takes fewer bytes than a log of the writes. A log entry has `stored_bytes` besides the
// element.
bool Deriver::cheaper_to_copy(const LocalWrites &writes, std::int64_t stored_bytes) const {
  const LocalArray &array = *arrays_.latest[writes.array];
  const auto element = static_cast<std::int64_t>(size_of(array.type)) * array.type.count();
  return array.size.is_constant() && array.size.as_int() * element <= writes.stores * (element + stored_bytes);
}

// Copies as many elements as the primal array has.
void Deriver::copy_elements(LocalArrayId to, Value to_begin, LocalArrayId from, Value from_begin, LocalArrayId primal) {
  const LocalArray &array = *arrays_.latest[primal];
  const Type type = to_begin.type();
  For loop{build_.new_local(), type, Value::zero(type), build_.cast(type, array.size), Value::constant(type, 1), {}, {},
           LoopKind::Serial};
  const Value i = Value::local(type, loop.index);
  Block outer = build_.open();
  Value element = build_.local_load(array.type, from, build_(Op::Add, {i, from_begin}));
  build_.local_store(to, build_(Op::Add, {i, to_begin}), element);
  loop.body = build_.close(std::move(outer));
  build_.append({std::move(loop), SourceLocation()});
}

UndoCopy Deriver::copy_of(LocalArrayId primal) {
  const LocalArray &array = *arrays_.latest[primal];
  const Value begin = Value::zero(array.size.type());
  LocalArrayId copy = build_.allocate(array.type, array.size);
  copy_elements(copy, begin, array.working, begin, primal);
  return {primal, copy};
}

// Values of a log that are defined inside a branch become results of the branch. On the side that did not run they are
// zeros, which are not read.
void Deriver::export_log(UndoLog &log, LocalId first_inside, std::vector<BranchResult> &results, bool then_side) {
  std::unordered_map<LocalId, LocalId> exported;
  log = map_values(log, [&](const Value &value) {
    if (!value.is_local() || value.id() < first_inside) return value;
    auto [known, is_new] = exported.try_emplace(value.id(), 0);
    if (is_new) {
      known->second = build_.new_local();
      const Value zero = Value::zero(value.type());
      results.push_back({known->second, value.type(), then_side ? value : zero, then_side ? zero : value});
    }
    return Value::local(value.type(), known->second);
  });
}

bool Deriver::any_held(const UndoLog &log) const {
  return std::ranges::any_of(log, [&](const Undo &undo) {
    return std::visit(
        Overloaded{[&](const UndoBranch &branch) { return any_held(branch.then_log) || any_held(branch.else_log); },
                   [&](const auto &write) { return bool{arrays_.held[write.array]}; }},
        undo.kind);
  });
}

void Deriver::take_back(const UndoLog &log, const std::function<Value(const Value &)> &at_hand) {
  for (const Undo &undo : log | std::views::reverse)
    std::visit(Overloaded{[&](const UndoStore &store) {
                            if (!arrays_.held[store.array]) return;
                            build_.local_store(arrays_.latest[store.array]->working, at_hand(store.index),
                                               at_hand(store.old));
                          },
                          [&](const UndoBranch &branch) {
                            if (!any_held({undo})) return;
                            If taken{at_hand(branch.condition), {}, {}, {}};
                            Block outer = build_.open();
                            take_back(branch.then_log, at_hand);
                            taken.then_block = build_.close({});
                            take_back(branch.else_log, at_hand);
                            taken.else_block = build_.close(std::move(outer));
                            build_.append({std::move(taken), build_.where()});
                          },
                          [&](const UndoCopy &copy) {
                            if (!arrays_.held[copy.array]) return;
                            const LocalArray &array = *arrays_.latest[copy.array];
                            const Value begin = Value::zero(array.size.type());
                            copy_elements(array.working, begin, copy.copy, begin, copy.array);
                          }},
               undo.kind);
}

// Called when the reverse reaches a statement that wrote to local arrays. If its writes are not undone, the working
// array has the elements after the statement, not those that earlier statements read.
void Deriver::lose_what_is_not_kept(const Stmt &stmt) {
  for (const LocalWrites &writes : local_writes(stmt))
    if (!keep_.array[writes.array]) arrays_.held[writes.array] = false;
}

void Deriver::release_what_nothing_reads_before(const Stmt &stmt) {
  for (LocalArrayId array = 0; array < arrays_.first_reader.size(); ++array)
    if (arrays_.first_reader[array] == &stmt) arrays_.held[array] = false;
}

// The gradients of the elements, initially zero.
void Deriver::declare_adjoint_array(const Allocate &allocate) {
  LocalArray &array = *arrays_.latest[allocate.array];
  const Type gradients = gradient_type(array.type);
  array.adjoint = build_.allocate(gradients, array.size);
  const Type type = array.size.type();
  For loop{build_.new_local(), type, Value::zero(type), array.size, Value::constant(type, 1), {}, {}, LoopKind::Serial};
  Block outer = build_.open();
  build_.local_store(*array.adjoint, Value::local(type, loop.index), Value::zero(gradients));
  loop.body = build_.close(std::move(outer));
  build_.append({std::move(loop), SourceLocation()});
}

}  // namespace samite::autodiff
