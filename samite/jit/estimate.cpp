#include "samite/jit/estimate.h"

#include "samite/ir/tile_rules.h"
#include "samite/ir/visit.h"
#include "samite/passes/threads/sum_over_launch.h"

#include <algorithm>
#include <cmath>

namespace samite::jit {
namespace {

constexpr double elements_at_once = 8;

// For a statement without blocks. On tiles, a vector operation counts like a lane's operation elsewhere.
double statement_cost(const ir::Stmt &stmt) {
  ir::Type type = ScalarType::Float32;
  double each = 1;
  if (auto *let = stmt.as<ir::Let>()) {
    type = let->value.type;
    if (let->value.op == ir::Op::MatMul)
      each = static_cast<double>(ir::matmul_extents(let->value.operands[0].type(), type, let->value.attribute).inner);
    if (let->value.op == ir::Op::Cholesky || let->value.op == ir::Op::TriangularSolve)
      each = static_cast<double>(let->value.operands[0].type().shape()[let->value.type.shape().rank() - 1]) / 2;
    if (let->value.op == ir::Op::SortOrder || let->value.op == ir::Op::Fourier)
      each = 4 * std::log2(1 + static_cast<double>(type.count()));
    for (const ir::Value &operand : let->value.operands)
      if (operand.type().count() > type.count()) type = operand.type();
  }
  if (auto *store = stmt.as<ir::Store>()) type = store->value.type();
  if (auto *accumulate = stmt.as<ir::Accumulate>()) type = accumulate->value.type();
  return type.is_tile() ? each * static_cast<double>(type.count()) / elements_at_once + 1 : 1;
}

constexpr double assumed_iterations = 64;

// A loop over a block's threads is vectorised.
double iterations(const ir::For &loop) {
  if (loop.kind != ir::LoopKind::Thread || !loop.begin.is_constant() || !loop.end.is_constant())
    return assumed_iterations;
  return static_cast<double>(std::max<std::int64_t>(loop.end.as_int() - loop.begin.as_int(), 0)) / elements_at_once + 1;
}

double block_cost(const ir::Block &block) {
  double cost = 0;
  for (const ir::Stmt &stmt : block) {
    if (auto *branch = stmt.as<ir::If>())
      cost += block_cost(branch->then_block) + block_cost(branch->else_block);
    else if (auto *loop = stmt.as<ir::For>())
      cost += iterations(*loop) * block_cost(loop->body);
    else if (auto *loop = stmt.as<ir::While>())
      cost += assumed_iterations * (block_cost(loop->condition_block) + block_cost(loop->body));
    else
      cost += statement_cost(stmt);
  }
  return cost;
}

}  // namespace

double cost_of(const ir::Kernel &kernel) { return block_cost(kernel.body) + 1; }

std::vector<std::uint32_t> arrays_only_added_to(const ir::Kernel &kernel) {
  std::vector<bool> added(kernel.parameters.size());
  ir::for_each_statement(kernel.body, [&](const ir::Stmt &stmt) {
    if (auto *accumulate = stmt.as<ir::Accumulate>()) added[accumulate->array] = true;
  });
  const std::vector<bool> in_no_other_way = passes::arrays_only_added_to(kernel);
  std::vector<std::uint32_t> arrays;
  for (std::uint32_t i = 0; i < added.size(); ++i)
    if (added[i] && in_no_other_way[i]) arrays.push_back(i);
  return arrays;
}

}  // namespace samite::jit
