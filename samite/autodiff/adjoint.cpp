#include "samite/autodiff/adjoint.h"

#include "samite/autodiff/activity.h"
#include "samite/autodiff/refusal.h"
#include "samite/autodiff/rules.h"
#include "samite/base/error.h"
#include "samite/ir/visit.h"
#include "samite/passes/promote.h"
#include "samite/passes/relax_atomics.h"
#include "samite/passes/simplify.h"

#include <algorithm>
#include <ranges>
#include <unordered_map>

namespace samite::autodiff {
namespace {

using namespace ir;

class Deriver {
 public:
  // `kept` is by primal local: the carried values (by their inner local) whose every value is kept.
  Deriver(const Kernel &primal, const std::vector<bool> &active, const std::vector<bool> &kept)
      : primal_(primal),
        active_array_(active),
        kept_(kept),
        activity_(find_activity(primal, active)),
        primal_value_(primal.local_count),
        adjoint_(primal.local_count),
        tape_(primal.local_count) {
    parameters_ = primal.parameters;
    for (std::uint32_t i = 0; i < active.size(); ++i) {
      gradient_.push_back(static_cast<std::uint32_t>(parameters_.size()));
      if (!active[i]) continue;
      const Parameter &parameter = primal.parameters[i];
      parameters_.push_back({gradient_name(parameter), parameter.type, parameter.rank, false, Role::Gradient, i});
      gradient_of_.push_back(i);
    }
    for (std::size_t i = 0; i < primal.parameters.size(); ++i) parameters_[i].read_only = parameters_[i].is_array();
  }

  // The adjoint in captured form.
  Kernel run() {
    if (activity_.reaches_output) region(primal_.body);
    Kernel kernel;
    kernel.name = primal_.name + "_adjoint";
    kernel.parameters = parameters_;
    kernel.launch_rank = primal_.launch_rank;
    kernel.where = primal_.where;
    kernel.body = build_.take();
    kernel.local_count = build_.local_count();
    kernel.local_array_count = build_.local_array_count();
    return kernel;
  }

  const std::vector<std::uint32_t> &gradient_of() const { return gradient_of_; }

 private:
  bool active(LocalId local) const { return activity_.local[local]; }
  bool active(const Value &value) const { return value.is_local() && is_floating(value.type()) && active(value.id()); }

  // The primal value, as this region of the adjoint has it.
  Value value(const Value &primal) const {
    if (!primal.is_local()) return primal;
    internal_check(primal_value_[primal.id()].has_value(), "the adjoint reads a value that was not recomputed");
    return *primal_value_[primal.id()];
  }
  std::vector<Value> values(const std::vector<Value> &primal) const {
    std::vector<Value> mapped;
    for (const Value &v : primal) mapped.push_back(value(v));
    return mapped;
  }

  Value define(LocalId primal, ScalarType type) {
    Value fresh = Value::local(type, build_.new_local());
    primal_value_[primal] = fresh;
    return fresh;
  }

  void region(const Block &block) {
    recompute(block);
    declare_adjoints(block);
    reverse(block);
  }

  void recompute(const Block &block) {
    for (const Stmt &stmt : block) {
      build_.at(stmt.where());
      visit(
          stmt,
          [&](const Let &let) {
            Operation operation = let.value;
            operation.operands = values(operation.operands);
            primal_value_[let.local] = build_.operation(std::move(operation));
          },
          [&](const If &branch) { recompute_branch(branch, stmt.where()); },
          [&](const For &loop) { recompute_loop(loop, stmt.where()); },
          [&](const While &loop) { recompute_loop(loop, stmt.where()); }, [](const auto &) {});
    }
  }

  void recompute_branch(const If &branch, SourceLocation where) {
    If copy{value(branch.condition), {}, {}, {}};
    Block outer = build_.open();
    recompute(branch.then_block);
    std::vector<Value> then_values;
    for (const BranchResult &result : branch.results) then_values.push_back(value(result.then_value));
    copy.then_block = build_.close({});
    recompute(branch.else_block);
    for (std::size_t i = 0; i < branch.results.size(); ++i)
      copy.results.push_back({0, branch.results[i].type, then_values[i], value(branch.results[i].else_value)});
    copy.else_block = build_.close(std::move(outer));
    for (std::size_t i = 0; i < branch.results.size(); ++i)
      copy.results[i].local = define(branch.results[i].local, branch.results[i].type).id();
    build_.append({std::move(copy), where});
  }

  std::vector<Carried> enter(const std::vector<Carried> &carried) {
    std::vector<Carried> copy;
    for (const Carried &c : carried) {
      Value initial = value(c.initial);
      copy.push_back({define(c.inner, c.type).id(), 0, c.type, initial, initial});
    }
    return copy;
  }
  void close_carried(const std::vector<Carried> &carried, std::vector<Carried> &copy) {
    for (std::size_t i = 0; i < carried.size(); ++i) copy[i].next = value(carried[i].next);
  }
  void leave(const std::vector<Carried> &carried, std::vector<Carried> &copy) {
    for (std::size_t i = 0; i < carried.size(); ++i) copy[i].result = define(carried[i].result, carried[i].type).id();
  }

  void recompute_loop(const For &loop, SourceLocation where) {
    Value count = Value::zero(loop.type);
    if (keeps(loop.carried)) count = trip_count(loop);
    allocate_tapes(loop.carried, count);
    For copy{0, loop.type, value(loop.begin), value(loop.end), value(loop.step), {}, enter(loop.carried), loop.kind};
    Block outer = build_.open();
    copy.index = define(loop.index, loop.type).id();
    if (keeps(loop.carried)) store_on_tapes(loop.carried, iteration(loop, value(Value::local(loop.type, loop.index))));
    recompute(loop.body);
    close_carried(loop.carried, copy.carried);
    copy.body = build_.close(std::move(outer));
    leave(loop.carried, copy.carried);
    build_.append({std::move(copy), where});
  }

  // How often a while_ runs shows only when it has run: once to count where its reverse needs that, and once more to
  // keep values where it needs those, too.
  void recompute_loop(const While &loop, SourceLocation where) {
    if (has_adjoint(loop.carried, loop.condition_block) || has_adjoint(loop.body)) {
      Value count = run(loop, where, false);
      count_.insert_or_assign(&loop, count);
      if (!keeps(loop.carried)) return;
      allocate_tapes(loop.carried, count);
    }
    run(loop, where, keeps(loop.carried));
  }

  // The loop once more; how often its body ran.
  Value run(const While &loop, SourceLocation where, bool keep) {
    Value none = Value::zero(ScalarType::Int32);
    LocalId number = build_.new_local(), count = build_.new_local();
    While copy{{}, loop.condition, {}, enter(loop.carried)};
    Block outer = build_.open();
    recompute(loop.condition_block);
    copy.condition = value(loop.condition);
    copy.condition_block = build_.close({});
    if (keep) store_on_tapes(loop.carried, Value::local(ScalarType::Int32, number));
    recompute(loop.body);
    close_carried(loop.carried, copy.carried);
    Value next = build_(Op::Add, {Value::local(ScalarType::Int32, number), Value::constant(ScalarType::Int32, 1)});
    copy.carried.push_back({number, count, ScalarType::Int32, none, next});
    copy.body = build_.close(std::move(outer));
    leave(loop.carried, copy.carried);
    build_.append({std::move(copy), where});
    return Value::local(ScalarType::Int32, count);
  }

  bool keeps(const std::vector<Carried> &carried) const {
    return std::any_of(carried.begin(), carried.end(), [&](const Carried &c) { return kept_[c.inner]; });
  }

  void allocate_tapes(const std::vector<Carried> &carried, Value count) {
    for (const Carried &c : carried)
      if (kept_[c.inner]) tape_[c.inner] = build_.allocate(c.type, count);
  }

  void store_on_tapes(const std::vector<Carried> &carried, Value number) {
    for (const Carried &c : carried)
      if (kept_[c.inner]) build_.local_store(*tape_[c.inner], number, value(Value::local(c.type, c.inner)));
  }

  // The iterations that a loop runs: ceil((end - begin) / step), or none.
  Value trip_count(const For &loop) {
    Value begin = value(loop.begin), end = value(loop.end);
    std::int64_t step = loop.step.as_int(), size = step < 0 ? -step : step;
    Value distance = step > 0 ? build_(Op::Sub, {end, begin}) : build_(Op::Sub, {begin, end});
    Value padded = build_(Op::Add, {distance, Value::constant(loop.type, size - 1)});
    return build_(Op::Max, {build_(Op::Div, {padded, Value::constant(loop.type, size)}), Value::zero(loop.type)});
  }

  // The number of the iteration, from 0, in which the loop's index is `index`.
  Value iteration(const For &loop, Value index) {
    Value begin = value(loop.begin);
    std::int64_t step = loop.step.as_int(), size = step < 0 ? -step : step;
    Value distance = step > 0 ? build_(Op::Sub, {index, begin}) : build_(Op::Sub, {begin, index});
    return build_(Op::Div, {distance, Value::constant(loop.type, size)});
  }

  // One variable for the adjoint of each active value that the block itself defines, zero at first.
  void declare_adjoints(const Block &block) {
    for (const Stmt &stmt : block)
      for_each_definition(stmt, [&](LocalId local, ScalarType type) {
        if (active(local)) adjoint_[local] = build_.variable(Value::zero(type));
      });
  }

  Value adjoint(LocalId local) const {
    internal_check(adjoint_[local].has_value(), "an adjoint is read before it is declared");
    return Value::local(type_of(local), *adjoint_[local]);
  }
  ScalarType type_of(LocalId local) const { return types_[local]; }

  void add(const Value &primal, Value contribution) {
    if (!active(primal)) return;
    if (contribution.is_constant(0.0)) return;
    build_.assign(*adjoint_[primal.id()], build_(Op::Add, {adjoint(primal.id()), contribution}));
  }

  void reverse(const Block &block) {
    for (const Stmt &stmt : block | std::views::reverse) {
      build_.at(stmt.where());
      visit(
          stmt, [&](const Let &let) { reverse_let(let); },
          [&](const Store &store) {
            if (!active_array_[store.array]) return;
            Value taken = gradient_operation(Op::Exchange, store.array, store.indices);
            add(store.value, taken);
          },
          [&](const Accumulate &accumulate) {
            if (!active_array_[accumulate.array] || !active(accumulate.value)) return;
            add(accumulate.value, gradient_operation(Op::Load, accumulate.array, accumulate.indices));
          },
          [&](const If &branch) { reverse_branch(branch, stmt.where()); },
          [&](const For &loop) { reverse_loop(loop, stmt.where()); },
          [&](const While &loop) { reverse_loop(loop, stmt.where()); }, [](const Allocate &) {},
          [](const LocalStore &) {},
          [](const CapturedOnly auto &) { internal_check(false, "a statement of the captured form"); });
    }
  }

  Value gradient_operation(Op op, std::uint32_t array, const std::vector<Value> &indices) {
    return build_.operation({op, primal_.parameters[array].type, values(indices), gradient_[array]});
  }

  void reverse_let(const Let &let) {
    if (!active(let.local)) return;
    Value seed = adjoint(let.local);
    if (let.value.op == Op::Load) {
      build_.append({Accumulate{gradient_[let.value.array], values(let.value.operands), seed, true}, build_.where()});
      return;
    }
    Operation operation = let.value;
    operation.operands = values(operation.operands);
    auto partials = autodiff::partials(build_, operation, *primal_value_[let.local]);
    for (std::size_t i = 0; i < partials.size(); ++i) {
      const Value &operand = let.value.operands[i];
      if (active(operand)) add(operand, apply(build_, partials[i], seed, operand.type()));
    }
  }

  // Whether reversing the statement does anything.
  bool has_adjoint(const std::vector<Carried> &carried, const Block &body) const {
    bool found = std::any_of(carried.begin(), carried.end(), [&](const Carried &c) { return active(c.inner); });
    return found || has_adjoint(body);
  }
  bool has_adjoint(const Block &block) const {
    bool found = false;
    for_each_statement(block, [&](const Stmt &stmt) {
      if (auto *store = stmt.as<Store>()) found = found || active_array_[store->array];
      if (auto *accumulate = stmt.as<Accumulate>()) found = found || active(accumulate->value);
      for_each_definition(stmt, [&](LocalId local, ScalarType) { found = found || active(local); });
    });
    return found;
  }

  void reverse_branch(const If &branch, SourceLocation where) {
    bool results = std::any_of(branch.results.begin(), branch.results.end(),
                               [&](const BranchResult &result) { return active(result.local); });
    if (!results && !has_adjoint(branch.then_block) && !has_adjoint(branch.else_block)) return;
    If reversed{value(branch.condition), {}, {}, {}};
    auto side = [&](const Block &block, Value BranchResult::*chosen) {
      recompute(block);
      declare_adjoints(block);
      build_.at(where);
      for (const BranchResult &result : branch.results)
        if (active(result.local)) add(result.*chosen, adjoint(result.local));
      reverse(block);
    };
    Block outer = build_.open();
    side(branch.then_block, &BranchResult::then_value);
    reversed.then_block = build_.close({});
    side(branch.else_block, &BranchResult::else_value);
    reversed.else_block = build_.close(std::move(outer));
    build_.append({std::move(reversed), where});
  }

  // The same iterations, last first. With n = ceil((end - begin) / step) of them the last is begin + (n - 1) step; an
  // empty loop then starts at or beyond the new end and stays empty.
  For reversed_range(const For &loop) {
    Value begin = value(loop.begin), end = value(loop.end), step = value(loop.step);
    internal_check(step.is_constant(), "a loop whose step is not a constant");
    std::int64_t s = step.as_int(), size = s < 0 ? -s : s;
    auto number = [&](std::int64_t n) { return Value::constant(loop.type, n); };
    Value distance = s > 0 ? build_(Op::Sub, {end, begin}) : build_(Op::Sub, {begin, end});
    Value count = build_(Op::Div, {build_(Op::Add, {distance, number(size - 1)}), number(size)});
    Value last = size == 1 ? build_(Op::Add, {end, number(-s)})
                           : build_(Op::Add, {begin, build_(Op::Mul, {build_(Op::Sub, {count, number(1)}), step})});
    Value stop = build_(Op::Add, {begin, number(s > 0 ? -1 : 1)});
    return {0, loop.type, last, stop, number(-s), {}, {}, loop.kind};
  }

  void reverse_loop(const For &loop, SourceLocation where) {
    if (!has_adjoint(loop.carried, loop.body)) return;
    For reversed = reversed_range(loop);
    begin_carried_adjoints(loop.carried);
    Block outer = build_.open();
    Value index = define(loop.index, loop.type);
    reversed.index = index.id();
    start_iteration(loop.carried, loop.body, iteration(loop, index));
    recompute(loop.body);
    declare_adjoints(loop.body);
    build_.at(where);
    hand_back(loop.carried);
    reverse(loop.body);
    reversed.body = build_.close(std::move(outer));
    build_.append({std::move(reversed), where});
    end_carried_adjoints(loop.carried);
  }

  // As often as the loop ran, last iteration first. What the condition computes belongs to the iteration it admits.
  void reverse_loop(const While &loop, SourceLocation where) {
    if (!has_adjoint(loop.carried, loop.condition_block) && !has_adjoint(loop.body)) return;
    auto number = [](std::int64_t n) { return Value::constant(ScalarType::Int32, n); };
    Value last = build_(Op::Sub, {count_.at(&loop), number(1)});
    begin_carried_adjoints(loop.carried);
    Block outer = build_.open();
    For reversed{build_.new_local(), ScalarType::Int32, last, number(-1), number(-1), {}, {}, LoopKind::Serial};
    start_iteration(loop.carried, loop.body, Value::local(ScalarType::Int32, reversed.index));
    recompute(loop.condition_block);
    recompute(loop.body);
    declare_adjoints(loop.condition_block);
    declare_adjoints(loop.body);
    build_.at(where);
    hand_back(loop.carried);
    reverse(loop.body);
    reverse(loop.condition_block);
    reversed.body = build_.close(std::move(outer));
    build_.append({std::move(reversed), where});
    end_carried_adjoints(loop.carried);
  }

  // The adjoint of what a loop carries, from the loop's end to its beginning.
  void begin_carried_adjoints(const std::vector<Carried> &carried) {
    for (const Carried &c : carried)
      if (active(c.inner))
        adjoint_[c.inner] = build_.variable(active(c.result) ? adjoint(c.result) : Value::zero(c.type));
  }

  // From the value that an iteration left to what it was computed from.
  void hand_back(const std::vector<Carried> &carried) {
    std::vector<std::pair<Value, Value>> taken;
    for (const Carried &c : carried) {
      if (!active(c.inner)) continue;
      LocalId seed = build_.variable(adjoint(c.inner));
      build_.assign(*adjoint_[c.inner], Value::zero(c.type));
      taken.push_back({c.next, Value::local(c.type, seed)});
    }
    for (auto &[next, seed] : taken) add(next, seed);
  }

  void end_carried_adjoints(const std::vector<Carried> &carried) {
    for (const Carried &c : carried)
      if (active(c.inner)) add(c.initial, adjoint(c.inner));
  }

  // The values that the carried locals had when the iteration began.
  void start_iteration(const std::vector<Carried> &carried, const Block &body, Value number) {
    for (const Carried &c : carried) {
      if (auto step = counter_step(c, body)) {
        Value moved = build_(Op::Mul, {build_.cast(c.type, number), *step});
        primal_value_[c.inner] = build_(Op::Add, {value(c.initial), moved});
      } else if (kept_[c.inner]) {
        primal_value_[c.inner] = build_.local_load(c.type, *tape_[c.inner], number);
      } else {
        // Whether this is needed shows when dead code is gone; it is then kept in the next attempt.
        primal_value_[c.inner] = build_.operation({Op::Unavailable, c.type, {}, 0, static_cast<std::int32_t>(c.inner)});
      }
    }
  }

  // The constant by which an integer local grows in each iteration, if it does just that.
  static std::optional<Value> counter_step(const Carried &c, const Block &body) {
    if (!is_integer(c.type) || !c.next.is_local()) return std::nullopt;
    for (const Stmt &stmt : body) {
      auto *let = stmt.as<Let>();
      if (!let || let->local != c.next.id() || let->value.op != Op::Add) continue;
      const Value &a = let->value.operands[0], &b = let->value.operands[1];
      if (a == Value::local(c.type, c.inner) && b.is_constant()) return b;
      if (b == Value::local(c.type, c.inner) && a.is_constant()) return a;
    }
    return std::nullopt;
  }

  const Kernel &primal_;
  const std::vector<bool> &active_array_;
  const std::vector<bool> &kept_;
  Activity activity_;
  std::vector<ScalarType> types_ = local_types(primal_);
  std::vector<Parameter> parameters_;
  std::vector<std::uint32_t> gradient_;  // primal parameter -> its gradient parameter, where active
  std::vector<std::uint32_t> gradient_of_;
  std::vector<std::optional<Value>> primal_value_;
  std::vector<std::optional<LocalId>> adjoint_;
  std::vector<std::optional<LocalArrayId>> tape_;   // by the inner local of what is kept: the latest recomputation's
  std::unordered_map<const While *, Value> count_;  // how often the latest recomputation ran
  passes::Builder build_;
};

std::vector<std::uint32_t> arrays_read(const Kernel &adjoint) {
  std::vector<std::uint32_t> arrays;
  for_each_statement(adjoint.body, [&](const Stmt &stmt) {
    auto *let = stmt.as<Let>();
    if (let && let->value.op == Op::Load && adjoint.parameters[let->value.array].role == Role::Primal)
      arrays.push_back(let->value.array);
  });
  std::sort(arrays.begin(), arrays.end());
  arrays.erase(std::unique(arrays.begin(), arrays.end()), arrays.end());
  return arrays;
}

// Carried values that the adjoint still asks for, now that dead code is gone.
std::vector<LocalId> missing_values(const Kernel &adjoint) {
  std::vector<LocalId> missing;
  for_each_statement(adjoint.body, [&](const Stmt &stmt) {
    auto *let = stmt.as<Let>();
    if (let && let->value.op == Op::Unavailable) missing.push_back(static_cast<LocalId>(let->value.attribute));
  });
  return missing;
}

std::vector<KeptValue> describe_kept(const Kernel &primal, const std::vector<bool> &kept) {
  std::vector<SourceLocation> defined(primal.local_count);
  for_each_statement(primal.body, [&](const Stmt &stmt) {
    for_each_definition(stmt, [&](LocalId local, ScalarType) { defined[local] = stmt.where(); });
  });
  std::vector<KeptValue> values;
  for_each_statement(primal.body, [&](const Stmt &stmt) {
    auto add = [&](const std::vector<Carried> &carried) {
      for (const Carried &c : carried)
        if (kept[c.inner])
          values.push_back({stmt.where(), c.next.is_local() ? defined[c.next.id()] : stmt.where(), c.type});
    };
    if (auto *loop = stmt.as<For>()) add(loop->carried);
    if (auto *loop = stmt.as<While>()) add(loop->carried);
  });
  return values;
}

}  // namespace

std::string gradient_name(const Parameter &parameter) { return parameter.name + "_gradient"; }

Adjoint derive_adjoint(const Kernel &structured, const std::vector<bool> &active, bool may_alias) {
  refuse_moving_elements(structured, active);
  refuse_lost_gradients(structured, active);
  refuse_local_arrays(structured);
  Adjoint adjoint;
  std::vector<bool> kept(structured.local_count);
  for (;;) {
    Deriver deriver(structured, active, kept);
    adjoint.kernel = passes::simplify(passes::promote(deriver.run()));
    adjoint.gradient_of = deriver.gradient_of();
    // What is kept must be computed, which may ask for more: of an outer loop, for instance.
    std::vector<LocalId> missing = missing_values(adjoint.kernel);
    if (missing.empty()) break;
    for (LocalId local : missing) {
      internal_check(!kept[local], "a value is kept and still missing");
      kept[local] = true;
    }
  }
  adjoint.values_before = overwritten_values(structured, adjoint.kernel);
  if (!may_alias) adjoint.kernel = passes::relax_atomics(adjoint.kernel);
  adjoint.values_read = arrays_read(adjoint.kernel);
  adjoint.kept = describe_kept(structured, kept);
  adjoint.empty = adjoint.kernel.body.empty();
  return adjoint;
}

}  // namespace samite::autodiff
