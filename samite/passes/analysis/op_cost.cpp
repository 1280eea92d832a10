#include "samite/passes/analysis/op_cost.h"

#include "samite/ir/visit.h"

#include <algorithm>
#include <cstdlib>
#include <vector>

namespace samite::passes {

using namespace ir;

namespace {

// In instructions, and in statements.
constexpr std::size_t largest_unrolled = 64, largest_copied = 400, largest_flattened = 6;

std::size_t statements_in(const Block &block) {
  std::size_t count = 0;
  for_each_statement(block, [&](const Stmt &) { ++count; });
  return count;
}

struct ThreadLoop {
  const For *loop;
  int depth;  // the nesting depth of loops around it and inside it
};

// Finds the thread loops of `block`, which is in `around` loops. Returns the nesting depth of loops inside it.
int find_thread_loops(const Block &block, int around, std::vector<ThreadLoop> &found) {
  int deepest = 0;
  const auto enter = [&](const Block &inner, bool in_loop) {
    const int depth = in_loop + find_thread_loops(inner, around + in_loop, found);
    deepest = std::max(deepest, depth);
    return depth;
  };
  for (const Stmt &stmt : block) {
    if (const For *loop = stmt.as<For>()) {
      const int depth = enter(loop->body, true);
      if (loop->kind == LoopKind::Thread) found.push_back({loop, around + depth});
    } else if (const If *branch = stmt.as<If>()) {
      enter(branch->then_block, false);
      enter(branch->else_block, false);
    } else if (const While *loop_while = stmt.as<While>()) {
      enter(loop_while->condition_block, true);
      enter(loop_while->body, true);
    }
  }
  return deepest;
}

bool is_long(const For &loop) {
  constexpr std::int64_t fewest = 16;
  if (!loop.begin.is_constant() || !loop.end.is_constant()) return true;
  return std::abs(loop.end.as_int() - loop.begin.as_int()) >= fewest;
}

// Whether a statement's code differs if some lanes are inactive.
bool asks_for_mask(const Stmt &stmt, const Uniformity &lanes) {
  if (const Let *let = stmt.as<Let>()) {
    const bool loads = let->value.op == Op::Load || let->value.op == Op::LocalLoad;
    if (!loads) return let->value.op == Op::Exchange || info(let->value.op).typing == Typing::Atomic;
    return std::ranges::any_of(let->value.operands,
                               [&](const Value &index) { return lanes.of(index) != Shape::Uniform; });
  }
  if (const For *loop = stmt.as<For>()) return lanes.divergent(*loop) || lanes.starts_late(*loop);
  if (const If *branch = stmt.as<If>()) return lanes.divergent(*branch);
  if (const While *loop = stmt.as<While>()) return lanes.divergent(*loop);
  return true;
}

// Whether a body spends its time in loops that need no mask.
bool has_loops_without_masks(const Block &body, const Uniformity &lanes) {
  bool has_loops = false, asks = false;
  for_each_statement(body, [&](const Stmt &stmt) {
    const For *loop = stmt.as<For>();
    if (stmt.as<While>()) asks = true;
    if (!loop || !is_long(*loop)) return;
    has_loops = true;
    asks = asks || asks_for_mask(stmt, lanes);
    for_each_statement(loop->body, [&](const Stmt &inner) { asks = asks || asks_for_mask(inner, lanes); });
  });
  return has_loops && !asks;
}

}  // namespace

bool cheap(Op op) {
  switch (op) {
    case Op::Div:
    case Op::Rem:
    case Op::Exchange: return false;
    case Op::CopySign:
    case Op::StopGradient: return true;
    default: return info(op).typing != Typing::Floating && info(op).typing != Typing::Atomic;
  }
}

std::size_t instructions(const Block &block) {
  std::size_t count = 0;
  for_each_statement(block, [&](const Stmt &stmt) {
    if (stmt.as<Barrier>() || stmt.as<CommitCopies>() || stmt.as<WaitForCopies>()) return;
    const Let *let = stmt.as<Let>();
    const bool floating = let && is_floating(let->value.type);
    const Op op = floating ? let->value.op : Op::Copy;
    if (op == Op::Pow)
      count += 64;
    else if (op == Op::Div || op == Op::Sqrt)
      count += 8;
    else if (op == Op::Rsqrt)
      count += 4;
    else
      count += info(op).typing == Typing::Floating && !cheap(op) ? 24 : 1;
  });
  return count;
}

std::size_t instructions_of_one(const For &loop) {
  return instructions(loop.body) / static_cast<std::size_t>(loop.threads.instances);
}

bool may_be_unrolled(const For &loop) {
  bool calls = false;
  for_each_statement(loop.body, [&](const Stmt &stmt) { calls = calls || result_of(stmt); });
  return !loop.rolled && !calls && instructions_of_one(loop) <= largest_unrolled;
}

std::int64_t turns_together(const Block &turn, std::int64_t turns) {
  bool waits = false, loads = false;
  for_each_statement(turn, [&](const Stmt &stmt) {
    const auto *sum = stmt.as<Accumulate>();
    waits = waits || array_read(stmt) || (sum && !sum->atomic);
    loads = loads || (local_array_touched(stmt) && stmt.as<Let>());
  });
  const std::size_t largest = waits ? 4 * largest_unrolled : largest_unrolled;
  const auto most = static_cast<std::int64_t>(largest / std::max<std::size_t>(instructions(turn), 1));
  const std::int64_t most_together = waits || loads ? 8 : 4;
  for (std::int64_t together = std::min({most, turns, most_together}); together > 1; --together)
    if (turns % together == 0) return together;
  return 1;
}

bool worth_copying(const Kernel &lowered, const For &thread_loop, const Uniformity &lanes, std::size_t left_out) {
  if (is_tile_kernel(lowered)) return statements_in(thread_loop.body) <= largest_copied;
  std::vector<ThreadLoop> loops;
  find_thread_loops(lowered.body, 0, loops);
  std::size_t count = 0;
  int deepest = 0, own = 0;
  for (const ThreadLoop &each : loops) {
    count += statements_in(each.loop->body);
    deepest = std::max(deepest, each.depth);
    if (each.loop == &thread_loop) own = each.depth;
  }
  return count <= largest_copied + left_out && own == deepest && !has_loops_without_masks(thread_loop.body, lanes);
}

bool worth_flattening(const Block &side, const Uniformity &lanes, bool checked,
                      const std::function<bool(LocalArrayId, const Value &)> &harmless) {
  if (side.size() > largest_flattened) return false;
  const auto guarded = [&](const std::vector<Value> &indices) {
    return !checked &&
           std::ranges::any_of(indices, [&](const Value &index) { return lanes.of(index) != Shape::Uniform; });
  };
  return std::ranges::all_of(side, [&](const Stmt &stmt) {
    if (const Let *let = stmt.as<Let>()) {
      const Operation &own = let->value;
      if (!cheap(own.op) || (own.op == Op::Load && !guarded(own.operands))) return false;
      return own.op != Op::LocalLoad || harmless(own.array, own.operands[0]);
    }
    if (const LocalStore *store = stmt.as<LocalStore>()) return harmless(store->array, store->index);
    const Store *store = stmt.as<Store>();
    return store && guarded(store->indices);
  });
}

}  // namespace samite::passes
