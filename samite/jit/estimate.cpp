#include "samite/jit/estimate.h"

#include "samite/ir/visit.h"

namespace samite::jit {
namespace {

double cost_of(const ir::Block &block) {
  constexpr double assumed_iterations = 64;
  double cost = 0;
  for (const ir::Stmt &stmt : block) {
    if (auto *branch = stmt.as<ir::If>())
      cost += cost_of(branch->then_block) + cost_of(branch->else_block);
    else if (auto *loop = stmt.as<ir::For>())
      cost += assumed_iterations * cost_of(loop->body);
    else if (auto *loop = stmt.as<ir::While>())
      cost += assumed_iterations * (cost_of(loop->condition_block) + cost_of(loop->body));
    else
      cost += 1;
  }
  return cost;
}

}  // namespace

double cost_of(const ir::Kernel &kernel) { return cost_of(kernel.body) + 1; }

std::vector<std::uint32_t> arrays_only_added_to(const ir::Kernel &kernel) {
  std::vector<bool> added(kernel.parameters.size()), touched(kernel.parameters.size());
  ir::for_each_statement(kernel.body, [&](const ir::Stmt &stmt) {
    if (auto *accumulate = stmt.as<ir::Accumulate>())
      (accumulate->atomic ? added : touched)[accumulate->array] = true;
    else if (auto array = ir::array_written(stmt))
      touched[*array] = true;
    else if (auto array = ir::array_read(stmt))
      touched[*array] = true;
  });
  std::vector<std::uint32_t> arrays;
  for (std::uint32_t i = 0; i < added.size(); ++i)
    if (added[i] && !touched[i]) arrays.push_back(i);
  return arrays;
}

}  // namespace samite::jit
