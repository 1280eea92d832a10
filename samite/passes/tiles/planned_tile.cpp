#include "samite/passes/tiles/planned_tile.h"

#include "samite/ir/loop_products.h"
#include "samite/ir/tile_rules.h"
#include "samite/ir/visit.h"
#include "samite/passes/analysis/plan_refused.h"
#include "samite/passes/simplify/rewrite.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

namespace samite::passes {
namespace {

using namespace ir;

// Whether an iteration multiplies, other than in loops inside, in structured or lowered form.
bool multiplies_itself(const For &loop) {
  return loop.kind == LoopKind::Serial && std::ranges::any_of(loop.body, [](const Stmt &stmt) {
           const auto *let = stmt.as<Let>();
           return (let && let->value.op == Op::MatMul) || multiplies(stmt);
         });
}

// The fields that the code of a product fixes.
TilePlan tile_of_product(const TileCall &product, int threads) {
  const MatMulExtents extents = matmul_extents(product.operands[0].type, product.result.type, product.attribute);
  return {.rows = static_cast<int>(extents.rows),
          .columns = static_cast<int>(extents.columns),
          .inner = static_cast<int>(extents.inner),
          .threads = threads};
}

constexpr TilePlan::Field TilePlan::*fields_of_tile[] = {&TilePlan::rows, &TilePlan::columns, &TilePlan::inner,
                                                         &TilePlan::threads};

}  // namespace

Block with_stages_of_products(const Block &block, int stages) {
  return rewrite(block, [&](const Stmt &stmt) -> Stmt {
    const auto *loop = stmt.as<For>();
    if (!loop || !multiplies_itself(*loop)) return stmt;
    For staged = *loop;
    staged.stages = stages;
    return {std::move(staged), stmt.where()};
  });
}

Kernel with_planned_stages(Kernel structured) {
  if (!structured.plan.stages) return structured;
  bool multiplies = false;
  for_each_statement(structured.body, [&](const Stmt &stmt) {
    const auto *loop = stmt.as<For>();
    multiplies = multiplies || (loop && multiplies_itself(*loop));
  });
  if (!multiplies) {
    TilePlan nearest = structured.plan;
    nearest.stages = std::nullopt;
    throw PlanRefused(structured, fmt::format("stages {}", *structured.plan.stages), "no loop of it multiplies",
                      nearest);
  }
  structured.body = with_stages_of_products(structured.body, *structured.plan.stages);
  return structured;
}

Kernel with_planned_tile(Kernel lowered) {
  std::optional<TilePlan> made;
  bool agree = true;
  for_each_statement(lowered.body, [&](const Stmt &stmt) {
    const auto *loop = stmt.as<For>();
    if (!loop || loop->products.declared.empty()) return;
    for (const TileCall *product : product_calls(*loop)) {
      const TilePlan own = tile_of_product(*product, lowered.block_threads);
      agree = agree && (!made || *made == own);
      made = own;
    }
  });
  TilePlan asked, fixed = agree && made ? *made : TilePlan();
  for (const auto field : fields_of_tile)
    if (lowered.plan.*field && lowered.plan.*field != fixed.*field) asked.*field = lowered.plan.*field;
  if (asked == TilePlan()) {
    lowered.plan = with(lowered.plan, fixed);
    return lowered;
  }
  TilePlan nearest = lowered.plan;
  for (const auto field : fields_of_tile) nearest.*field = fixed.*field;
  throw PlanRefused(lowered, to_string(asked),
                    !made    ? "the kernel has no loop that multiplies windows"
                    : !agree ? "the products of its loops differ"
                             : "the kernel's code has " + to_string(fixed),
                    nearest);
}

Kernel with_stages_of_rings(Kernel looped) {
  std::set<std::int64_t> stages;
  for_each_statement(looped.body, [&](const Stmt &stmt) {
    const auto *loop = stmt.as<MainLoop>();
    if (loop && loop->by_bulk_copies()) stages.insert(loop->barriers->type.count() / 2);
    if (const auto *product = stmt.as<WindowProduct>()) stages.insert(product->barriers.type.count() / 2);
  });
  if (stages.size() == 1) looped.plan.stages = static_cast<int>(*stages.begin());
  return looped;
}

}  // namespace samite::passes
