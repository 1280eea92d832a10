#include "samite/passes/analysis/neighbours_in_rows.h"

#include "samite/ir/visit.h"

#include <utility>

namespace samite::passes {

using namespace ir;

NeighboursInRows::NeighboursInRows(const Kernel &lowered, FactsOfArrays arrays, const Value &index)
    : forms_(lowered),
      arrays_(std::move(arrays)),
      index_(index.id()),
      written_(lowered.parameters.size()),
      read_(lowered.parameters.size()),
      sums_(lowered.local_count) {
  for_each_statement(lowered.body, [&](const Stmt &stmt) {
    if (auto array = array_written(stmt)) written_[*array] = true;
    const Let *let = stmt.as<Let>();
    if (!let) return;
    const Operation &operation = let->value;
    if (operation.op == Op::Load) read_[operation.array] = true;
    if (auto sum = value_and_constant(operation)) sums_[let->local] = *sum;
  });
}

std::optional<PlaceInRow> NeighboursInRows::operator()(std::uint32_t array, std::span<const Value> indices) const {
  constexpr std::int64_t farthest = 1 << 16;
  if (!facts_of(arrays_, array).rows_in_units()) return std::nullopt;
  const IndexForm last = forms_(indices.back());
  const Symbol own = Symbol::local(index_);
  const std::int64_t from_index = last.form.constant();
  if (!last.form.is_symbol_and_constant(own) || from_index < -farthest || from_index > farthest) return std::nullopt;
  if (last.narrow_or_unsigned || !forms_.tells_apart(own, last.narrowest)) return std::nullopt;
  PlaceInRow place{{array}, from_index};
  for (const Value &index : indices.first(indices.size() - 1)) {
    const auto sum = index.is_local() ? sums_[index.id()] : std::nullopt;
    const Value &base = sum ? sum->first : index;
    for (const std::uint64_t part :
         {static_cast<std::uint64_t>(base.kind()), base.bits(), static_cast<std::uint64_t>(base.type().element()),
          static_cast<std::uint64_t>(sum ? sum->second : 0)})
      place.row.push_back(part);
  }
  return place;
}

std::optional<std::pair<Value, std::int64_t>> value_and_constant(const Operation &operation) {
  constexpr std::int64_t farthest = 1 << 16;
  if (operation.op != Op::Add && operation.op != Op::Sub) return std::nullopt;
  const Value &by = operation.operands[1];
  const bool index = class_of(operation.type) == ScalarClass::Signed && size_of(operation.type) >= 4;
  if (!index || !by.is_constant() || by.as_int() < -farthest || by.as_int() > farthest) return std::nullopt;
  return std::pair{operation.operands[0], operation.op == Op::Add ? by.as_int() : -by.as_int()};
}

}  // namespace samite::passes
