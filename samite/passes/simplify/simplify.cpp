#include "samite/passes/simplify/simplify.h"

#include "samite/ir/visit.h"
#include "samite/passes/simplify/computed.h"
#include "samite/passes/simplify/dead_code.h"
#include "samite/passes/simplify/fold.h"
#include "samite/passes/simplify/scales.h"

#include <initializer_list>
#include <map>
#include <optional>
#include <utility>

namespace samite::passes {
namespace {

using namespace ir;

// The written memory. Array parameters and local arrays never share memory.
struct Writes {
  bool arrays = false, local_arrays = false;
};

Writes writes(const Stmt &stmt) { return {array_written(stmt).has_value(), stmt.as<LocalStore>() != nullptr}; }

Writes writes(std::initializer_list<const Block *> blocks) {
  Writes found;
  for (const Block *block : blocks)
    for_each_statement(*block, [&](const Stmt &stmt) {
      Writes more = writes(stmt);
      found = {found.arrays || more.arrays, found.local_arrays || more.local_arrays};
    });
  return found;
}

// Whether a type represents all values of another one, so that a cast there and back is the identity. 8-bit floating
// types are excluded: casts to them saturate, which does not preserve infinity.
bool holds_all(ScalarType type, ScalarType of) {
  if (size_of(type) <= size_of(of)) return false;
  const ScalarClass kind = class_of(type), kind_of = class_of(of);
  if (kind == ScalarClass::Floating) return kind_of == kind && size_of(of) > 1;
  return kind_of == kind || (kind == ScalarClass::Signed && kind_of == ScalarClass::Unsigned);
}

class Simplifier {
 public:
  Simplifier(const Kernel &kernel, bool merge_scales)
      : merge_scales_(merge_scales), value_of_(kernel.local_count), array_of_(kernel.local_array_count) {}

  Block block(const Block &in) {
    Block out;
    block(in, out);
    return out;
  }

  LocalId local_count() const { return next_; }
  LocalArrayId local_array_count() const { return next_array_; }
  // Whether another walk may find more to do.
  bool left_work() const { return left_work_; }

 private:
  void block(const Block &in, Block &out) {
    std::size_t scope = computed_.size();
    out.reserve(in.size());
    statements(in, out);
    computed_.shrink(scope);
  }

  void statements(const Block &in, Block &out) {
    for (const Stmt &stmt : in) statement(stmt, out);
  }

  Value value(const Value &old) const { return old.is_local() ? *value_of_[old.id()] : old; }

  LocalId define(LocalId old, Type type) {
    value_of_[old] = Value::local(type, next_);
    return next_++;
  }

  void statement(const Stmt &stmt, Block &out) {
    visit(
        stmt, [&](const Let &let) { simplify_let(let, stmt.where(), out); },
        [&](const If &branch) { simplify_branch(branch, stmt.where(), out); },
        [&](const For &loop) { simplify_loop(loop, stmt.where(), out); },
        [&](const While &loop) { simplify_loop(loop, stmt.where(), out); },
        [&](const CustomAdjoint &custom) { simplify_custom(custom, stmt.where(), out); },
        [&](const Allocate &allocate) {
          array_of_[allocate.array] = next_array_++;
          out.push_back({Allocate{array_of_[allocate.array], allocate.type, value(allocate.size)}, stmt.where()});
        },
        [&](const LocalStore &store) {
          out.push_back({LocalStore{array_of_[store.array], value(store.index), value(store.value)}, stmt.where()});
          note(writes(stmt));
        },
        [&](const Check &check) {
          Value condition = value(check.condition);
          if (condition.is_constant() && condition.bits()) return;
          out.push_back(map_operands(stmt, [&](const Value &v) { return value(v); }));
        },
        [&](const auto &) {
          out.push_back(map_operands(stmt, [&](const Value &v) { return value(v); }));
          note(writes(stmt));
        });
  }

  // Values loaded from this memory before may have changed.
  void note(const Writes &written) {
    epoch_ += written.arrays;
    local_epoch_ += written.local_arrays;
  }

  void simplify_let(const Let &let, SourceLocation where, Block &out) {
    // Reused for all operations, so that operations that turn out to be known do not allocate.
    Operation &operation = operation_;
    operation = let.value;
    for (Value &operand : operation.operands) operand = value(operand);
    if (merge_scales_) operation = scales_.merged(operation);
    if (operation.op == Op::Cast && operation.operands[0].is_local()) {
      const auto widened = widened_.find(operation.operands[0].id());
      if (widened != widened_.end() && widened->second.type() == operation.type) {
        value_of_[let.local] = widened->second;
        return;
      }
    }
    if (auto folded = fold(operation)) {
      value_of_[let.local] = *folded;
      return;
    }
    const bool acts = operation.op == Op::Exchange || info(operation.op).typing == Typing::Atomic;
    if (operation.op == Op::LocalLoad) operation.array = array_of_[operation.array];
    const std::uint32_t epoch = operation.op == Op::Load ? epoch_ : operation.op == Op::LocalLoad ? local_epoch_ : 0;
    if (acts) {
      ++epoch_;
    } else if (auto known = computed_.find(operation, epoch)) {
      value_of_[let.local] = Value::local(operation.type, *known);
      return;
    }
    const LocalId local = define(let.local, operation.type);
    out.push_back({Let{local, operation}, where});
    if (merge_scales_) scales_.define(local, operation);
    if (operation.op == Op::Cast && holds_all(operation.type.element(), operation.operands[0].type().element()))
      widened_.emplace(local, operation.operands[0]);
    if (!acts) computed_.add(out.back().as<Let>()->value, epoch, local);
  }

  void simplify_branch(const If &branch, SourceLocation where, Block &out) {
    Value condition = value(branch.condition);
    if (condition.is_constant()) {
      bool taken = condition.bits() != 0;
      // The other side's writes were accounted for around it.
      const Writes dropped = writes({taken ? &branch.else_block : &branch.then_block});
      left_work_ = left_work_ || dropped.arrays || dropped.local_arrays;
      statements(taken ? branch.then_block : branch.else_block, out);
      for (const BranchResult &result : branch.results)
        value_of_[result.local] = value(taken ? result.then_value : result.else_value);
      return;
    }
    const Writes written = writes({&branch.then_block, &branch.else_block});
    If simplified{condition, block(branch.then_block), {}, {}};
    std::vector<Value> then_values;
    for (const BranchResult &result : branch.results) then_values.push_back(value(result.then_value));
    note(written);  // the other side's writes are not here, but memory is unknown
    simplified.else_block = block(branch.else_block);
    note(written);
    std::vector<LocalId> opposites;
    for (std::size_t i = 0; i < branch.results.size(); ++i) {
      const BranchResult &result = branch.results[i];
      Value else_value = value(result.else_value);
      const bool tells_the_side =
          result.type == ScalarType::Bool && then_values[i].is_constant() && else_value.is_constant();
      if (then_values[i] == else_value)
        value_of_[result.local] = else_value;
      else if (tells_the_side && then_values[i].bits())
        value_of_[result.local] = condition;
      else if (tells_the_side)
        opposites.push_back(result.local);
      else
        simplified.results.push_back({define(result.local, result.type), result.type, then_values[i], else_value});
    }
    out.push_back({std::move(simplified), where});
    for (LocalId opposite : opposites)
      simplify_let({opposite, {Op::Not, ScalarType::Bool, {branch.condition}}}, where, out);
  }

  // The replay and the adjoint run later than their position: loaded values may have changed by then.
  void simplify_custom(const CustomAdjoint &custom, SourceLocation where, Block &out) {
    constexpr Writes anything{true, true};
    CustomAdjoint simplified;
    simplified.replays = custom.replays;
    for (const CustomOperand &each : custom.operands) {
      const Value operand = value(each.operand);
      simplified.operands.push_back({define(each.inner, operand.type()), operand, operand});
    }
    simplified.primal = block(custom.primal);
    note(writes({&custom.primal}));
    for (const CustomResult &result : custom.results) {
      Value result_value = value(result.value);
      simplified.results.push_back({0, result.type, result_value, result_value, 0});
    }
    if (custom.replays) {
      note(anything);
      simplified.replay = block(custom.replay);
      for (std::size_t i = 0; i < custom.results.size(); ++i)
        simplified.results[i].replayed = value(custom.results[i].replayed);
    }
    for (std::size_t i = 0; i < custom.results.size(); ++i) {
      simplified.results[i].local = define(custom.results[i].local, custom.results[i].type);
      simplified.results[i].cotangent = define(custom.results[i].cotangent, custom.results[i].type);
    }
    note(anything);
    simplified.adjoint = block(custom.adjoint);
    note(anything);
    for (std::size_t i = 0; i < custom.operands.size(); ++i)
      simplified.operands[i].gradient = value(custom.operands[i].gradient);
    out.push_back({std::move(simplified), where});
  }

  // A value carried unchanged equals its initial value, inside and after.
  std::vector<Carried> enter(const std::vector<Carried> &carried) {
    std::vector<Carried> kept;
    for (const Carried &old : carried) {
      bool unchanged = old.next.is_local() && old.next.id() == old.inner;
      if (unchanged) {
        value_of_[old.inner] = value_of_[old.result] = value(old.initial);
        continue;
      }
      Value initial = value(old.initial);
      kept.push_back({define(old.inner, old.type), old.result, old.type, initial, old.next});
    }
    return kept;
  }

  void leave(std::vector<Carried> &carried) {
    for (Carried &value_ : carried) {
      value_.next = value(value_.next);
      left_work_ = left_work_ || value_.next == Value::local(value_.type, value_.inner);
      value_.result = define(value_.result, value_.type);
    }
  }

  void simplify_loop(const For &loop, SourceLocation where, Block &out) {
    const Writes written = writes({&loop.body});
    note(written);
    For simplified{0, loop.type, value(loop.begin), value(loop.end), value(loop.step), {}, {}, loop.kind, loop.stages};
    simplified.carried = enter(loop.carried);
    simplified.index = define(loop.index, loop.type);
    simplified.body = block(loop.body);
    leave(simplified.carried);
    note(written);
    out.push_back({std::move(simplified), where});
  }

  void simplify_loop(const While &loop, SourceLocation where, Block &out) {
    const Writes written = writes({&loop.condition_block, &loop.body});
    note(written);
    While simplified{{}, loop.condition, {}, enter(loop.carried)};
    std::size_t scope = computed_.size();
    statements(loop.condition_block, simplified.condition_block);
    simplified.condition = value(loop.condition);
    statements(loop.body, simplified.body);
    computed_.shrink(scope);
    leave(simplified.carried);
    note(written);
    out.push_back({std::move(simplified), where});
  }

  bool merge_scales_;
  std::vector<std::optional<Value>> value_of_;
  Scales scales_;
  std::map<LocalId, Value> widened_;  // the operand of a cast to a wider type
  Computed computed_;
  Operation operation_{Op::Copy, ScalarType::Bool, {}};
  std::vector<LocalArrayId> array_of_;
  std::uint32_t epoch_ = 0, local_epoch_ = 0;
  LocalId next_ = 0;
  LocalArrayId next_array_ = 0;
  bool left_work_ = false;
};

Kernel simplify(const Kernel &structured, bool merge_scales) {
  // Dead code first, to avoid useless folding and to number densely. A walk may enable the next one, for example when a
  // carried value turns out to be unchanged after folding.
  Kernel simplified = structured;
  std::optional<Block> alive = without_dead_code(simplified);
  for (bool again = true; again;) {
    if (alive) simplified.body = std::move(*alive);
    Simplifier simplifier(simplified, merge_scales);
    simplified.body = simplifier.block(simplified.body);
    simplified.local_count = simplifier.local_count();
    simplified.local_array_count = simplifier.local_array_count();
    alive = without_dead_code(simplified);
    again = alive || simplifier.left_work();
  }
  return simplified;
}

}  // namespace

Kernel simplify(const Kernel &structured) { return simplify(structured, false); }
Kernel simplify_adjoint(const Kernel &structured) { return simplify(structured, true); }

}  // namespace samite::passes
