#include "samite/passes/op_cost.h"

#include "samite/ir/visit.h"

namespace samite::passes {

using namespace ir;

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

}  // namespace samite::passes
