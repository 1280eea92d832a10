#include "samite/schedule/finish_kernel.h"

#include "samite/base/error.h"
#include "samite/ir/visit.h"
#include "samite/passes/simplify/rewrite.h"
#include "samite/schedule/barriers.h"
#include "samite/schedule/partition_loops.h"
#include "samite/schedule/share_operations.h"

#include <map>
#include <set>

namespace samite::schedules {
namespace {

using namespace ir;

// The array of a parameter that a statement names.
const std::uint32_t *array_of(const Operation &operation) {
  const Typing typing = info(operation.op).typing;
  return typing == Typing::Load || typing == Typing::Atomic || typing == Typing::Extent ? &operation.array : nullptr;
}
const std::uint32_t *array_of(const Stmt &stmt) {
  if (const Let *let = stmt.as<Let>()) return array_of(let->value);
  if (const Store *store = stmt.as<Store>()) return &store->array;
  if (const Accumulate *accumulate = stmt.as<Accumulate>()) return &accumulate->array;
  return nullptr;
}

Stmt with_array(const Stmt &stmt, std::uint32_t array) {
  if (const Let *let = stmt.as<Let>()) {
    Let copy = *let;
    copy.value.array = array;
    return {copy, stmt.where()};
  }
  if (const Store *store = stmt.as<Store>()) {
    Store copy = *store;
    copy.array = array;
    return {copy, stmt.where()};
  }
  Accumulate copy = *stmt.as<Accumulate>();
  copy.array = array;
  return {copy, stmt.where()};
}

void number_locals_densely(Kernel &kernel) {
  std::map<LocalId, LocalId> dense;
  for_each_statement(kernel.body, [&](const Stmt &stmt) {
    for_each_definition(stmt,
                        [&](LocalId local, const Type &) { dense.emplace(local, static_cast<LocalId>(dense.size())); });
  });
  kernel.body =
      passes::rewrite(map_operands(kernel.body,
                                   [&](const Value &value) {
                                     return value.is_local() ? Value::local(value.type(), dense.at(value.id())) : value;
                                   }),
                      [&](const Stmt &stmt) -> Stmt {
                        if (const Let *let = stmt.as<Let>()) {
                          Let copy = *let;
                          copy.local = dense.at(copy.local);
                          return {copy, stmt.where()};
                        }
                        if (const For *loop = stmt.as<For>()) {
                          For copy = *loop;
                          copy.index = dense.at(copy.index);
                          return {copy, stmt.where()};
                        }
                        if (const If *branch = stmt.as<If>(); branch && !branch->results.empty()) {
                          If copy = *branch;
                          for (BranchResult &result : copy.results) result.local = dense.at(result.local);
                          return {copy, stmt.where()};
                        }
                        return stmt;
                      });
  kernel.local_count = static_cast<LocalId>(dense.size());
}

}  // namespace

std::vector<LoadAhead> order_kernel(Kernel &kernel, bool gpu, bool partitioned) {
  kernel.body = share_operations(kernel.body);
  if (gpu) {
    std::vector<LoadAhead> ahead = load_ahead(kernel);
    kernel.body = with_barriers(kernel);
    return ahead;
  }
  if (!partitioned) return {};
  partition_loops(kernel);
  kernel.body = share_operations(kernel.body);
  return {};
}

std::vector<KernelArgument> finish_kernel(Kernel &kernel, const std::vector<Parameter> &parameters,
                                          const std::vector<TemporaryArray> &temporaries) {
  std::set<std::uint32_t> arrays, written, scalars;
  std::set<LocalId> defined;
  std::vector<LocalId> read;  // in the order of the text, so that kernels that differ in nothing else are equal
  for_each_statement(kernel.body, [&](const Stmt &stmt) {
    if (const std::uint32_t *array = array_of(stmt)) arrays.insert(*array);
    if (const auto array = array_written(stmt)) written.insert(*array);
    for_each_definition(stmt, [&](LocalId local, const Type &) { defined.insert(local); });
    for_each_operand(stmt, [&](const Value &value) {
      if (value.kind() == Value::Kind::Parameter) scalars.insert(value.parameter_index());
      if (value.is_local()) read.push_back(value.id());
    });
  });

  std::vector<KernelArgument> arguments;
  std::map<std::uint32_t, std::uint32_t> new_number;
  std::map<LocalId, std::uint32_t> of_host;
  for (std::uint32_t p = 0; p < parameters.size(); ++p) {
    if (!arrays.contains(p) && !scalars.contains(p)) continue;
    new_number[p] = static_cast<std::uint32_t>(kernel.parameters.size());
    Parameter parameter = parameters[p];
    parameter.read_only = parameter.is_array() && !written.contains(p);
    kernel.parameters.push_back(parameter);
    arguments.emplace_back(ParameterArgument{p});
  }
  for (std::uint32_t t = 0; t < temporaries.size(); ++t) {
    const auto number = static_cast<std::uint32_t>(parameters.size()) + t;
    if (!arrays.contains(number)) continue;
    new_number[number] = static_cast<std::uint32_t>(kernel.parameters.size());
    Parameter parameter{temporaries[t].name, temporaries[t].type, temporaries[t].rank};
    for (const Parameter &other : kernel.parameters)
      if (other.name == parameter.name) parameter.name += "_" + std::to_string(t);
    parameter.read_only = !written.contains(number);
    kernel.parameters.push_back(parameter);
    arguments.emplace_back(TemporaryArgument{t});
  }
  for (const LocalId local : read) {
    if (defined.contains(local) || of_host.contains(local)) continue;
    of_host[local] = static_cast<std::uint32_t>(kernel.parameters.size());
    kernel.parameters.push_back({"host_" + std::to_string(local), ScalarType::Int32});
    arguments.emplace_back(HostArgument{Value::local(ScalarType::Int32, local)});
  }

  const auto renumbered = [&](const Value &value) {
    if (value.kind() == Value::Kind::Parameter)
      return Value::parameter(value.type(), new_number.at(value.parameter_index()));
    if (value.is_local())
      if (const auto host = of_host.find(value.id()); host != of_host.end())
        return Value::parameter(ScalarType::Int32, host->second);
    return value;
  };
  kernel.body = passes::rewrite(map_operands(kernel.body, renumbered), [&](const Stmt &stmt) {
    const std::uint32_t *array = array_of(stmt);
    return array ? with_array(stmt, new_number.at(*array)) : stmt;
  });
  number_locals_densely(kernel);
  return arguments;
}

}  // namespace samite::schedules
