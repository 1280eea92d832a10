#include "samite/codegen/op_cost.h"

#include "samite/codegen/spelling.h"
#include "samite/ir/visit.h"

namespace samite::codegen {

using namespace ir;

bool cheap(Op op) {
  switch (spelling(op).form) {
    case Spelling::Form::Function: return op == Op::Min || op == Op::Max || op == Op::CopySign;
    case Spelling::Form::Atomic: return false;
    case Spelling::Form::Special: return op != Op::Div && op != Op::Rem && op != Op::Exchange;
    default: return true;
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
      count += spelling(op).form == Spelling::Form::Function && !cheap(op) ? 24 : 1;
  });
  return count;
}

std::size_t instructions_of_one(const For &loop) {
  return instructions(loop.body) / static_cast<std::size_t>(loop.instances);
}

}  // namespace samite::codegen
