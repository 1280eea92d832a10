// Uniform branches and loops: emitted as those of C++.
#include "samite/codegen/spelling.h"
#include "samite/codegen/walk.h"

namespace samite::codegen {

using namespace ir;

void Walk::common_branch(const If &branch) {
  bool results = false;
  for (const BranchResult &result : branch.results) {
    if (!emission_.used(result.local)) continue;
    out_.line("{} {};", values_.type(result.type, result.local), name(result.local));
    results = true;
  }
  const auto side = [&](const Block &statements, Value BranchResult::*value) {
    block(statements);
    for (const BranchResult &result : branch.results)
      if (emission_.used(result.local))
        out_.line("{} = {};", name(result.local), values_.assigned(result.*value, result.local));
  };
  out_.open("if ({}) {{", condition(branch.condition));
  side(branch.then_block, &BranchResult::then_value);
  out_.close();
  if (branch.else_block.empty() && !results) return;
  out_.open("else {{");
  side(branch.else_block, &BranchResult::else_value);
  out_.close();
}

void Walk::common_loop(const For &loop) {
  loop_text_.declare(loop.carried);
  keep_small(loop);
  const std::string end = loop_text_.open(loop);
  loop_body(loop);
  loop_text_.advance(loop.carried);
  out_.close(end);
  loop_text_.name_results(loop.carried);
}

void Walk::common_loop(const While &loop) {
  loop_text_.declare(loop.carried);
  out_.open("for (;;) {{");
  block(loop.condition_block);
  out_.line("if (!{}) break;", scalar(loop.condition));
  block(loop.body);
  loop_text_.advance(loop.carried);
  out_.close();
  loop_text_.name_results(loop.carried);
}

}  // namespace samite::codegen
