#include "samite/autodiff/deriver.h"

#include "samite/base/error.h"

#include <algorithm>

namespace samite::autodiff {

using namespace ir;

bool Keep::add(std::int32_t name) {
  const auto number = static_cast<std::size_t>(name);
  auto flag = number < local.size() ? local[number] : array[number - local.size()];
  const bool known = flag;
  flag = true;
  return known;
}

Deriver::Deriver(const Kernel &primal, const std::vector<bool> &active, const Keep &keep, Notes *notes)
    : primal_(primal),
      active_array_(active),
      keep_(keep),
      noting_{notes},
      activity_(find_activity(primal, active)),
      locals_{local_types(primal)},
      primal_value_(primal.local_count),
      adjoint_(primal.local_count),
      arrays_{std::vector<std::optional<LocalArray>>(primal.local_array_count),
              std::vector<bool>(primal.local_array_count), std::vector<int>(primal.local_array_count),
              first_readers(primal)} {
  locals_.products.resize(primal.local_count), locals_.uses.resize(primal.local_count),
      locals_.reversed.resize(primal.local_count);
  find_factors(primal.body);
  parameters_.written.resize(primal.parameters.size());
  for_each_primal_statement(primal.body, [&](const Stmt &stmt) {
    if (auto array = array_written(stmt)) parameters_.written[*array] = true;
  });
  locals_.defined_at.resize(primal.local_count), locals_.operation_of.resize(primal.local_count);
  locals_.range_of.resize(primal.local_count);
  for_each_statement(primal.body, [&](const Stmt &stmt) {
    for_each_definition(stmt, [&](LocalId local, Type) { locals_.defined_at[local] = stmt.where(); });
    if (auto *let = stmt.as<Let>()) locals_.operation_of[let->local] = &let->value;
    if (auto *loop = stmt.as<For>()) loops_.at[&loop->carried] = stmt.where(), locals_.range_of[loop->index] = loop;
    if (auto *loop = stmt.as<While>()) loops_.at[&loop->carried] = stmt.where();
  });
  parameters_.all = primal.parameters;
  for (std::uint32_t i = 0; i < active.size(); ++i) {
    parameters_.gradient.push_back(static_cast<std::uint32_t>(parameters_.all.size()));
    if (!active[i]) continue;
    const Parameter &parameter = primal.parameters[i];
    parameters_.all.push_back({derived_name(parameters_.all, parameter, "_gradient"), parameter.type, parameter.rank,
                               false, Role::Gradient, i});
    parameters_.all.back().last_extent = parameter.last_extent;
    parameters_.gradient_of.push_back(i);
  }
  for (std::size_t i = 0; i < primal.parameters.size(); ++i)
    parameters_.all[i].read_only = parameters_.all[i].is_array();
}

Kernel Deriver::run() {
  start_notes();
  if (activity_.reaches_output) region(primal_.body);
  finish_notes();
  Kernel kernel;
  kernel.name = primal_.name + "_adjoint";
  kernel.parameters = parameters_.all;
  kernel.launch_rank = primal_.launch_rank;
  kernel.block_threads = primal_.block_threads;
  kernel.sums_in_shared = primal_.sums_in_shared;
  kernel.where = primal_.where;
  kernel.launch_rank_where = primal_.launch_rank_where;
  kernel.body = build_.take();
  kernel.local_count = build_.local_count();
  kernel.local_array_count = build_.local_array_count();
  return kernel;
}

bool Deriver::has_adjoint(const std::vector<Carried> &carried, const Block &body) const {
  bool found = std::any_of(carried.begin(), carried.end(), [&](const Carried &c) { return active(c.inner); });
  return found || has_adjoint(body);
}
bool Deriver::has_adjoint(const Block &block) const {
  bool found = false;
  for_each_statement(block, [&](const Stmt &stmt) {
    if (auto *store = stmt.as<Store>()) found = found || active_array_[store->array];
    if (auto *accumulate = stmt.as<Accumulate>()) found = found || active(accumulate->value);
    if (auto *let = stmt.as<Let>(); let && let->value.op == Op::Exchange)
      found = found || active_array_[let->value.array];
    if (auto *store = stmt.as<LocalStore>()) found = found || activity_.local_array[store->array];
    for_each_definition(stmt, [&](LocalId local, Type) { found = found || active(local); });
  });
  return found;
}

Value Deriver::value(const Value &primal) const {
  if (!primal.is_local()) return primal;
  internal_check(primal_value_[primal.id()].has_value(), "the adjoint reads a value that was not recomputed");
  return *primal_value_[primal.id()];
}
std::vector<Value> Deriver::values(const std::vector<Value> &primal) const {
  std::vector<Value> mapped;
  for (const Value &v : primal) mapped.push_back(value(v));
  return mapped;
}

Value Deriver::define(LocalId primal, Type type) {
  Value fresh = Value::local(type, build_.new_local());
  primal_value_[primal] = fresh;
  return fresh;
}

void Deriver::region(const Block &block) {
  recompute(block);
  declare_adjoints(block);
  reverse(block);
}

void Deriver::declare_adjoints(const Block &block) {
  for (const Stmt &stmt : block) {
    for_each_definition(stmt, [&](LocalId local, Type type) {
      if (active(local)) adjoint_[local] = build_.variable(Value::zero(gradient_type(type)));
    });
    if (auto *allocate = stmt.as<Allocate>(); allocate && activity_.local_array[allocate->array])
      declare_adjoint_array(*allocate);
  }
}

Value Deriver::adjoint(LocalId local) const {
  internal_check(adjoint_[local].has_value(), "an adjoint is read before it is declared");
  return Value::local(gradient_type(locals_.types[local]), *adjoint_[local]);
}

void Deriver::add(const Value &primal, Value contribution) {
  if (!active(primal)) return;
  if (contribution.is_constant(0.0)) return;
  note(contribution);
  build_.assign(*adjoint_[primal.id()], build_(Op::Add, {adjoint(primal.id()), contribution}));
}

}  // namespace samite::autodiff
