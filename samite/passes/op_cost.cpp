#include "samite/passes/op_cost.h"

#include "samite/ir/visit.h"

#include <algorithm>

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
  return instructions(loop.body) / static_cast<std::size_t>(loop.instances);
}

bool may_be_unrolled(const For &loop) {
  bool calls = false;
  for_each_statement(loop.body, [&](const Stmt &stmt) { calls = calls || stmt.as<TileCall>(); });
  return !loop.rolled && !calls && instructions_of_one(loop) <= largest_unrolled;
}

std::int64_t turns_together(const Block &turn, std::int64_t turns) {
  bool waits = false;
  for_each_statement(turn, [&](const Stmt &stmt) { waits = waits || array_read(stmt) || array_written(stmt); });
  const std::size_t largest = waits ? 4 * largest_unrolled : largest_unrolled;
  const auto most = static_cast<std::int64_t>(largest / std::max<std::size_t>(instructions(turn), 1));
  for (std::int64_t together = std::min(most, turns); together > 1; --together)
    if (turns % together == 0) return together;
  return 1;
}

bool worth_copying(const Kernel &lowered, const For &thread_loop) {
  if (is_tile_kernel(lowered)) return statements_in(thread_loop.body) <= largest_copied;
  std::size_t count = 0;
  for_each_statement(lowered.body, [&](const Stmt &stmt) {
    const For *loop = stmt.as<For>();
    if (loop && loop->kind == LoopKind::Thread) count += statements_in(loop->body);
  });
  return count <= largest_copied;
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
