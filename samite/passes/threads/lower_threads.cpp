#include "samite/passes/threads/lower_threads.h"

#include "samite/ir/visit.h"
#include "samite/passes/simplify/rewrite.h"

#include <array>
#include <unordered_map>

namespace samite::passes {
namespace {

using namespace ir;

const Let *as_thread_index(const Stmt &stmt) {
  const Let *let = stmt.as<Let>();
  return let && let->value.op == Op::ThreadIndex ? let : nullptr;
}

// The block without its `thread_index` definitions, whose uses read `indices` instead. Its checks get the index of
// their instance.
Block without_thread_indices(const Block &block, const std::array<Value, maximum_rank> &indices, int launch_rank,
                             std::unordered_map<LocalId, Value> &replacement) {
  return rewrite(block, [&](const Stmt &stmt, Block &rest) {
    if (const Let *let = as_thread_index(stmt)) {
      const Value &index = indices[static_cast<std::size_t>(let->value.attribute)];
      if (index.type() == let->value.type)
        replacement.emplace(let->local, index);
      else
        rest.emplace_back(Let{let->local, {Op::Cast, let->value.type, {index}}}, stmt.where());
    } else if (const Check *check = stmt.as<Check>()) {
      Check kept = *check;
      kept.instance.assign(indices.begin(), indices.begin() + launch_rank);
      rest.emplace_back(std::move(kept), stmt.where());
    } else {
      rest.push_back(stmt);
    }
  });
}

}  // namespace

bool counts_in_i32(const Kernel &structured, int dimension) {
  bool some = false;
  for_each_statement(structured.body, [&](const Stmt &stmt) {
    const Let *let = as_thread_index(stmt);
    if (let && let->value.attribute == dimension) some = some || let->value.type == ScalarType::Int32;
  });
  return some;
}

Kernel lower_threads(Kernel kernel) {
  std::array<ScalarType, maximum_rank> types;
  types.fill(ScalarType::Int64);
  for (int dimension = 0; dimension < kernel.launch_rank; ++dimension) {
    bool wide = !counts_in_i32(kernel, dimension);
    for_each_statement(kernel.body, [&](const Stmt &stmt) {
      const Let *let = as_thread_index(stmt);
      if (let && let->value.attribute == dimension) wide = wide || let->value.type != ScalarType::Int32;
    });
    if (!wide) types[static_cast<std::size_t>(dimension)] = ScalarType::Int32;
  }

  Block bounds;
  std::array<Value, maximum_rank> indices{Value::zero(types[0]), Value::zero(types[1]), Value::zero(types[2]),
                                          Value::zero(types[3])};
  std::array<Value, maximum_rank> begins = indices, ends = indices;
  auto define = [&](Op op, int dimension, ScalarType type) {
    const LocalId local = kernel.local_count++;
    bounds.emplace_back(Let{local, {op, type, {}, 0, dimension}}, kernel.where);
    return Value::local(type, local);
  };
  for (int dimension = 0; dimension < kernel.launch_rank; ++dimension) {
    const auto d = static_cast<std::size_t>(dimension);
    begins[d] = define(Op::LaunchBegin, dimension, types[d]);
    ends[d] = define(Op::LaunchEnd, dimension, types[d]);
    indices[d] = Value::local(types[d], kernel.local_count++);
  }

  std::unordered_map<LocalId, Value> replacement;
  Block body = without_thread_indices(kernel.body, indices, kernel.launch_rank, replacement);
  body = map_operands(body, [&](const Value &value) {
    auto found = value.is_local() ? replacement.find(value.id()) : replacement.end();
    return found == replacement.end() ? value : found->second;
  });

  for (int dimension = kernel.launch_rank - 1; dimension >= 0; --dimension) {
    const auto d = static_cast<std::size_t>(dimension);
    const bool innermost = dimension == kernel.launch_rank - 1;
    For loop{indices[d].id(),
             types[d],
             begins[d],
             ends[d],
             Value::constant(types[d], std::int64_t{1}),
             std::move(body),
             {},
             innermost && !is_tile_kernel(kernel) ? LoopKind::Thread : LoopKind::Block};
    body = Block{Stmt(std::move(loop), kernel.where)};
  }
  bounds.insert(bounds.end(), body.begin(), body.end());
  kernel.body = std::move(bounds);
  return kernel;
}

}  // namespace samite::passes
