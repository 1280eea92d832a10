#include "samite/lang/jumps.h"

#include "samite/base/error.h"

#include <ranges>

namespace samite::lang {
namespace {

[[noreturn]] void refuse_in_condition(const std::string &jump, SourceLocation where) {
  throw UserError(where, jump +
                             " would leave the condition of a while_ half-way; give the condition a value that ends "
                             "the loop, or jump in its body");
}

[[noreturn]] void refuse_in_closed(const std::string &jump, SourceLocation where) {
  throw UserError(where, jump +
                             " would leave a function of custom_adjoint or adjoint_of half-way; return from it by "
                             "returning(…), or give the caller a value that it asks for");
}

}  // namespace

ir::Block JumpTargets::Label::around(ir::Block block, SourceLocation where) const {
  if (!left) return block;
  ir::Block labelled;
  labelled.emplace_back(ir::Labelled{id, std::move(block)}, where);
  return labelled;
}

ir::LabelId JumpTargets::open(Kind kind) {
  open_.push_back({kind, {next_}, {next_ + 1}});
  next_ += 2;
  return open_.back().whole.id;
}

JumpTargets::Target JumpTargets::close() {
  Target target = open_.back();
  open_.pop_back();
  return target;
}

ir::LabelId JumpTargets::leave(Label &label) {
  label.left = true;
  return label.id;
}

JumpTargets::Target &JumpTargets::innermost_loop(const char *jump, SourceLocation where) {
  Target &target = open_.back();
  switch (target.kind) {
    case Kind::Loop: break;
    case Kind::Condition: refuse_in_condition(jump, where);
    case Kind::Closed: refuse_in_closed(jump, where);
    case Kind::Function:
      throw UserError(where, std::string(jump) +
                                 " in a function of returning(…) that has no traced loop around it; it "
                                 "does not leave a loop of the function's caller: return a value that "
                                 "the caller's loop asks for");
    case Kind::Kernel:
      throw UserError(where, std::string(jump) +
                                 " outside of a traced loop: it belongs inside of the body of a loop "
                                 "over range(…) or of a while_");
  }
  return target;
}

ir::LabelId JumpTargets::break_label(SourceLocation where) { return leave(innermost_loop("break_()", where).whole); }

ir::LabelId JumpTargets::continue_label(SourceLocation where) {
  return leave(innermost_loop("continue_()", where).iteration);
}

ir::LabelId JumpTargets::return_label(SourceLocation where) { return return_label(open_.front().whole.id, where); }

ir::LabelId JumpTargets::return_label(ir::LabelId function, SourceLocation where) {
  for (auto &target : open_ | std::views::reverse) {
    if (target.kind == Kind::Condition) refuse_in_condition("return_", where);
    if (target.kind == Kind::Closed) refuse_in_closed("return_", where);
    if (target.whole.id == function) return leave(target.whole);
  }
  throw UserError(where,
                  "return_ is called after the function of returning(…) that it ends was left; call it inside of "
                  "that function");
}

}  // namespace samite::lang
