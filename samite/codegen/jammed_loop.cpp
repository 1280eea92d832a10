// Unroll and jam: several vectors of instances go through the body of a thread loop side by side, statement by
// statement, each with a copy of what the body defines. One vector alone is a chain of operations that wait for one
// another.
#include "samite/codegen/kernel_emitter.h"
#include "samite/codegen/spelling.h"
#include "samite/ir/visit.h"

namespace samite::codegen {

using namespace ir;

void KernelEmitter::jammed_body(const For &loop, const ThreadLoop &text) {
  copied_.assign(kernel_.local_count, false);
  copied_[loop.index] = true;
  for_each_statement(loop.body, [&](const Stmt &stmt) {
    for_each_definition(stmt, [&](LocalId local, Type) { copied_[local] = true; });
  });
  std::vector<std::string> masks;
  for (int copy = 0; copy < loop.jam; ++copy) {
    masks.push_back(fmt::format("{}_{}", text.mask, copy));
    out_.line("const {0} {1}_{2} = {1} + {2} * lane_count;", text.type, text.index, copy);
  }
  jammed(loop.body, masks);
  mask_.clear();
  copy_ = -1;
}

// A branch is harmless where no instance takes it, so that nobody asks whether one does.
void KernelEmitter::jammed(const Block &block, const std::vector<std::string> &masks) {
  for (const Stmt &stmt : block) {
    const If *branch = stmt.as<If>();
    std::vector<std::string> taken;
    for (std::size_t copy = 0; copy < masks.size(); ++copy) {
      copy_ = static_cast<int>(copy);
      mask_ = masks[copy];
      if (!branch) {
        statement(stmt);
        continue;
      }
      taken.push_back(fresh("m"));
      out_.line("const Mask {} = {} & {};", taken.back(), mask_, vector(branch->condition));
    }
    if (branch) jammed(branch->then_block, taken);
  }
}

}  // namespace samite::codegen
