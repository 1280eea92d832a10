#include "samite/passes/simplify/structure_jumps.h"

#include "samite/base/error.h"
#include "samite/ir/nesting.h"
#include "samite/ir/visit.h"
#include "samite/passes/simplify/builder.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>

namespace samite::passes {
namespace {

using namespace ir;

// The possible exits of a block: its end, and the ends of enclosing labels.
struct Exits {
  bool falls_through = true;
  std::vector<LabelId> labels;  // ascending

  void add(const Exits &other) {
    std::vector<LabelId> all;
    std::set_union(labels.begin(), labels.end(), other.labels.begin(), other.labels.end(), std::back_inserter(all));
    labels = std::move(all);
  }
};

Exits exits(const Block &block);

Exits exits(const Stmt &stmt) {
  Exits result;
  visit(
      stmt, [&](const Leave &leave) { result = {false, {leave.label}}; },
      [&](const Labelled &labelled) {
        result = exits(labelled.body);
        if (std::erase(result.labels, labelled.label) > 0) result.falls_through = true;
      },
      [&](const If &branch) {
        Exits then_exits = exits(branch.then_block), else_exits = exits(branch.else_block);
        result.add(then_exits), result.add(else_exits);
        result.falls_through = then_exits.falls_through || else_exits.falls_through;
      },
      [&](const For &loop) { result.add(exits(loop.body)); }, [&](const While &loop) { result.add(exits(loop.body)); },
      [](const auto &) {});
  return result;
}

Exits exits(const Block &block) {
  Exits result;
  for (const Stmt &stmt : block) {
    Exits of_stmt = exits(stmt);
    result.add(of_stmt);
    result.falls_through = of_stmt.falls_through;
    if (!result.falls_through) break;
  }
  return result;
}

// Whether a block that computes a condition can be evaluated again safely.
bool harmless(const Block &block) {
  return std::all_of(block.begin(), block.end(), [](const Stmt &stmt) {
    auto *let = stmt.as<Let>();
    if (!let) return false;
    if (!info(let->value.op).pure) return false;
    bool divides = let->value.op == Op::Div || let->value.op == Op::Rem;
    return !divides || is_floating(let->value.type);
  });
}

class Structurer {
 public:
  explicit Structurer(const Kernel &captured) : build_(captured.local_count) {}

  Block run(const Block &block) {
    rewrite(block);
    return build_.take();
  }

  LocalId local_count() const { return build_.local_count(); }

 private:
  // Statements still to come: the rest of a block, then the continuation of the enclosing block.
  struct Rest {
    Block::const_iterator next, end;
    const Rest *then = nullptr;

    Rest(const Block &block, const Rest *then = nullptr) : next(block.begin()), end(block.end()), then(then) {}

    const Stmt *take() {
      while (next == end && then) *this = *then;
      return next == end ? nullptr : &*next++;
    }
    bool empty() const { return next == end && (!then || then->empty()); }
  };

  // Appends the statements without jumps: they set the flags of the labels that they leave.
  void rewrite(Rest rest) {
    while (const Stmt *stmt = rest.take()) {
      const Exits leaves = exits(*stmt);
      build_.at(stmt->where());
      // If only one side continues, the rest belongs to that side.
      if (auto *branch = stmt->as<If>(); branch && leaves.falls_through && !leaves.labels.empty()) {
        const bool then_stays = exits(branch->then_block).falls_through,
                   else_stays = exits(branch->else_block).falls_through;
        if (then_stays != else_stays)
          return rewrite_branch(*branch, then_stays ? &rest : nullptr, else_stays ? &rest : nullptr, stmt->where());
      }
      rewrite(*stmt);
      if (!leaves.falls_through) return;
      if (leaves.labels.empty() || rest.empty()) continue;
      build_.at(stmt->where());
      Value stays = not_left(leaves.labels);
      return build_.append({If{stays, nested(rest), {}, {}}, stmt->where()});
    }
  }

  void rewrite(const Stmt &stmt) {
    visit(
        stmt, [&](const Leave &leave) { build_.assign(flag_.at(leave.label), Value::boolean(true)); },
        [&](const Labelled &labelled) {
          flag_[labelled.label] = build_.variable(Value::boolean(false));
          rewrite(labelled.body);
        },
        [&](const If &branch) { rewrite_branch(branch, nullptr, nullptr, stmt.where()); },
        [&](const For &loop) { rewrite_loop(loop, stmt.where()); },
        [&](const While &loop) { rewrite_loop(loop, stmt.where()); },
        [&](CustomAdjoint custom) {
          for (Block *inside : {&custom.primal, &custom.replay, &custom.adjoint}) *inside = nested(*inside);
          build_.append({std::move(custom), stmt.where()});
        },
        [&](AdjointCall call) {
          call.primal = nested(call.primal);
          build_.append({std::move(call), stmt.where()});
        },
        [&](const auto &) { build_.append(stmt); });
  }

  Block nested(Rest statements) {
    if (depth_ > maximum_nesting)
      throw UserError(build_.where(),
                      "more than " + std::to_string(maximum_nesting) +
                          " branches, loops and jumps depend on one another here: each break_, continue_ "
                          "or return_ puts what follows it into a branch. Keep in a Bool whether there "
                          "is still something to do, or leave a loop over a local array");
    Block outer = build_.open();
    ++depth_;
    rewrite(statements);
    --depth_;
    return build_.close(std::move(outer));
  }

  Value read(LocalId flag) const { return Value::local(ScalarType::Bool, flag); }

  Value not_left(const std::vector<LabelId> &labels) {
    Value left = read(flag_.at(labels[0]));
    for (std::size_t i = 1; i < labels.size(); ++i) left = build_(Op::Or, {left, read(flag_.at(labels[i]))});
    return build_(Op::Not, {left});
  }

  // No label is left at the start of an iteration. Stating that here keeps the loop from carrying the flags.
  void clear(const std::vector<LabelId> &labels) {
    for (LabelId label : labels) build_.assign(flag_.at(label), Value::boolean(false));
  }

  void rewrite_branch(const If &branch, const Rest *after_then, const Rest *after_else, SourceLocation where) {
    If rewritten{branch.condition, nested(Rest(branch.then_block, after_then)),
                 nested(Rest(branch.else_block, after_else)), branch.results};
    build_.append({std::move(rewritten), where});
  }

  void rewrite_loop(const For &loop, SourceLocation where) {
    const Exits leaves = exits(loop.body);
    if (leaves.labels.empty()) {
      For kept{loop.index,        loop.type,    loop.begin, loop.end,   loop.step,
               nested(loop.body), loop.carried, loop.kind,  loop.stages};
      return build_.append({std::move(kept), where});
    }
    const LocalId counter = build_.variable(loop.begin);
    const Value count = Value::local(loop.type, counter);
    Block outer = build_.open();
    Value goes_on = build_(Op::And, {in_range(loop, count), not_left(leaves.labels)});
    While rewritten{build_.close({}), goes_on, {}, {}};
    clear(leaves.labels);
    build_.append({Let{loop.index, {Op::Copy, loop.type, {count}}}, where});
    rewrite(loop.body);
    build_.at(where);
    build_.assign(counter, build_(Op::Add, {count, loop.step}));
    rewritten.body = build_.close(std::move(outer));
    build_.append({std::move(rewritten), where});
  }

  Value in_range(const For &loop, const Value &count) {
    if (class_of(loop.type) == ScalarClass::Unsigned) return build_(Op::Less, {count, loop.end});
    Value down = build_(Op::Less, {loop.step, Value::zero(loop.type)});
    if (down.is_constant()) return build_(down.bits() ? Op::Greater : Op::Less, {count, loop.end});
    return build_.select(down, build_(Op::Greater, {count, loop.end}), build_(Op::Less, {count, loop.end}));
  }

  void rewrite_loop(const While &loop, SourceLocation where) {
    const Exits leaves = exits(loop.body);
    if (leaves.labels.empty()) {
      While kept{nested(loop.condition_block), loop.condition, nested(loop.body), loop.carried};
      return build_.append({std::move(kept), where});
    }
    if (!harmless(loop.condition_block)) return rewrite_with_condition_in_body(loop, leaves.labels, where);
    Block outer = build_.open();
    rewrite(loop.condition_block);
    Value goes_on = build_(Op::And, {loop.condition, not_left(leaves.labels)});
    While rewritten{build_.close({}), goes_on, {}, {}};
    clear(leaves.labels);
    rewrite(loop.body);
    rewritten.body = build_.close(std::move(outer));
    build_.append({std::move(rewritten), where});
  }

  void rewrite_with_condition_in_body(const While &loop, const std::vector<LabelId> &leaves, SourceLocation where) {
    const LocalId goes_on = build_.variable(Value::boolean(true));
    Block outer = build_.open();
    clear(leaves);
    rewrite(loop.condition_block);
    build_.at(where);
    build_.assign(goes_on, Value::boolean(false));
    Block iteration = build_.open();
    rewrite(loop.body);
    build_.at(where);
    build_.assign(goes_on, not_left(leaves));
    Block body = build_.close(std::move(iteration));
    build_.append({If{loop.condition, std::move(body), {}, {}}, where});
    While rewritten{{}, read(goes_on), build_.close(std::move(outer)), {}};
    build_.append({std::move(rewritten), where});
  }

  Builder build_;
  std::unordered_map<LabelId, LocalId> flag_;
  int depth_ = 0;  // of the blocks being rewritten
};

}  // namespace

Kernel structure_jumps(const Kernel &captured) {
  bool jumps = false;
  for_each_statement(captured.body, [&](const Stmt &stmt) { jumps = jumps || stmt.as<Labelled>(); });
  if (!jumps) return captured;
  Structurer structurer(captured);
  Kernel structured = captured;
  structured.body = structurer.run(captured.body);
  structured.local_count = structurer.local_count();
  return structured;
}

}  // namespace samite::passes
