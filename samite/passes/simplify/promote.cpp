#include "samite/passes/simplify/promote.h"

#include "samite/base/error.h"
#include "samite/ir/visit.h"

#include <algorithm>

namespace samite::passes {
namespace {

using namespace ir;

class Promoter {
 public:
  explicit Promoter(const Kernel &captured) : types_(local_types(captured)), environment_(captured.local_count) {}

  Block block(const Block &captured) {
    Block out;
    out.reserve(captured.size());
    for (const Stmt &stmt : captured) statement(stmt, out);
    return out;
  }

  LocalId local_count() const { return next_; }

 private:
  LocalId define(LocalId captured) {
    environment_[captured] = Value::local(types_[captured], next_);
    return next_++;
  }

  Value value(const Value &captured) const {
    if (!captured.is_local()) return captured;
    const auto &known = environment_[captured.id()];
    internal_check(known.has_value(), "a local is used before its definition");
    return *known;
  }

  // The existing locals that `blocks` assign, in ascending order.
  std::vector<LocalId> assigned(std::initializer_list<const Block *> blocks) const {
    std::vector<LocalId> locals;
    for (const Block *block : blocks)
      for_each_statement(*block, [&](const Stmt &stmt) {
        if (auto *assign = stmt.as<Assign>())
          if (environment_[assign->local]) locals.push_back(assign->local);
      });
    std::sort(locals.begin(), locals.end());
    locals.erase(std::unique(locals.begin(), locals.end()), locals.end());
    return locals;
  }

  void statement(const Stmt &stmt, Block &out) {
    visit(
        stmt,
        [&](const Let &let) {
          if (let.value.op == Op::Copy) {
            environment_[let.local] = value(let.value.operands[0]);
            return;
          }
          Operation operation = let.value;
          for (Value &operand : operation.operands) operand = value(operand);
          out.push_back({Let{define(let.local), std::move(operation)}, stmt.where()});
        },
        [&](const Assign &assign) { environment_[assign.local] = value(assign.value); },
        [&](const If &branch) { promote_branch(branch, stmt.where(), out); },
        [&](const For &loop) { promote_loop(loop, stmt.where(), out); },
        [&](const While &loop) { promote_loop(loop, stmt.where(), out); },
        [&](const CustomAdjoint &custom) { promote_custom(custom, stmt.where(), out); },
        [](const AdjointCall &) { throw InternalError("adjoint_of is left where locals become values"); },
        [](const Labelled &) { throw InternalError("a jump is left where locals become values"); },
        [](const Leave &) { throw InternalError("a jump is left where locals become values"); },
        [&](const auto &) { out.push_back(map_operands(stmt, [&](const Value &v) { return value(v); })); });
  }

  // Its blocks do not assign outer locals.
  void promote_custom(const CustomAdjoint &custom, SourceLocation where, Block &out) {
    CustomAdjoint promoted;
    promoted.replays = custom.replays;
    for (const CustomOperand &each : custom.operands) {
      const Value operand = value(each.operand);
      promoted.operands.push_back({define(each.inner), operand, operand});
    }
    promoted.primal = block(custom.primal);
    for (const CustomResult &result : custom.results) {
      Value result_value = value(result.value);
      promoted.results.push_back({0, result.type, result_value, result_value, 0});
    }
    promoted.replay = block(custom.replay);
    if (custom.replays)
      for (std::size_t i = 0; i < custom.results.size(); ++i)
        promoted.results[i].replayed = value(custom.results[i].replayed);
    for (std::size_t i = 0; i < custom.results.size(); ++i) {
      promoted.results[i].local = define(custom.results[i].local);
      promoted.results[i].cotangent = define(custom.results[i].cotangent);
    }
    promoted.adjoint = block(custom.adjoint);
    for (std::size_t i = 0; i < custom.operands.size(); ++i)
      promoted.operands[i].gradient = value(custom.operands[i].gradient);
    out.push_back({std::move(promoted), where});
  }

  void promote_branch(const If &branch, SourceLocation where, Block &out) {
    auto locals = assigned({&branch.then_block, &branch.else_block});
    If promoted{value(branch.condition), {}, {}, {}};
    auto before = values_of(locals);
    promoted.then_block = block(branch.then_block);
    auto after_then = values_of(locals);
    for (const BranchResult &result : branch.results)
      promoted.results.push_back({0, result.type, value(result.then_value), value(result.then_value)});
    restore(locals, before);
    promoted.else_block = block(branch.else_block);
    auto after_else = values_of(locals);
    for (std::size_t i = 0; i < branch.results.size(); ++i)
      promoted.results[i].else_value = value(branch.results[i].else_value);
    for (std::size_t i = 0; i < branch.results.size(); ++i) promoted.results[i].local = define(branch.results[i].local);
    for (std::size_t i = 0; i < locals.size(); ++i) {
      if (after_then[i] == after_else[i]) continue;
      LocalId result = define(locals[i]);
      promoted.results.push_back({result, types_[locals[i]], after_then[i], after_else[i]});
    }
    out.push_back({std::move(promoted), where});
  }

  std::vector<Value> values_of(const std::vector<LocalId> &locals) const {
    std::vector<Value> values;
    for (LocalId local : locals) values.push_back(*environment_[local]);
    return values;
  }

  void restore(const std::vector<LocalId> &locals, const std::vector<Value> &values) {
    for (std::size_t i = 0; i < locals.size(); ++i) environment_[locals[i]] = values[i];
  }

  // Already carried values come first, then one for each of `locals`.
  std::vector<Carried> enter(const std::vector<Carried> &already, const std::vector<LocalId> &locals) {
    std::vector<Carried> carried;
    for (const Carried &c : already) {
      Value initial = value(c.initial);
      carried.push_back({define(c.inner), 0, c.type, initial, initial});
    }
    for (LocalId local : locals) {
      Value initial = *environment_[local];
      LocalId inner = define(local);
      carried.push_back({inner, 0, types_[local], initial, initial});
    }
    return carried;
  }

  void leave(const std::vector<Carried> &already, const std::vector<LocalId> &locals, std::vector<Carried> &carried) {
    auto next = carried.begin();
    for (const Carried &c : already) (next++)->next = value(c.next);
    for (LocalId local : locals) (next++)->next = *environment_[local];
    auto result = carried.begin();
    for (const Carried &c : already) (result++)->result = define(c.result);
    for (LocalId local : locals) (result++)->result = define(local);
  }

  void promote_loop(const For &loop, SourceLocation where, Block &out) {
    auto locals = assigned({&loop.body});
    For promoted{0, loop.type, value(loop.begin), value(loop.end), value(loop.step), {}, {}, loop.kind, loop.stages};
    promoted.carried = enter(loop.carried, locals);
    promoted.index = define(loop.index);
    promoted.body = block(loop.body);
    leave(loop.carried, locals, promoted.carried);
    out.push_back({std::move(promoted), where});
  }

  void promote_loop(const While &loop, SourceLocation where, Block &out) {
    if (!assigned({&loop.condition_block}).empty())
      throw UserError(where,
                      "the condition of this while_ assigns a local that is declared outside of it; assign it "
                      "in the body, or declare it inside of the condition");
    auto locals = assigned({&loop.body});
    While promoted{{}, loop.condition, {}, {}};
    promoted.carried = enter(loop.carried, locals);
    promoted.condition_block = block(loop.condition_block);
    promoted.condition = value(loop.condition);
    promoted.body = block(loop.body);
    leave(loop.carried, locals, promoted.carried);
    out.push_back({std::move(promoted), where});
  }

  std::vector<Type> types_;
  std::vector<std::optional<Value>> environment_;
  LocalId next_ = 0;
};

}  // namespace

Kernel promote(const Kernel &captured) {
  Promoter promoter(captured);
  Kernel structured = captured;
  structured.body = promoter.block(captured.body);
  structured.local_count = promoter.local_count();
  return structured;
}

}  // namespace samite::passes
