#include "samite/autodiff/tangent.h"

#include "samite/autodiff/activity.h"
#include "samite/autodiff/adjoint.h"
#include "samite/autodiff/refusal.h"
#include "samite/autodiff/rules.h"
#include "samite/base/error.h"
#include "samite/ir/visit.h"
#include "samite/passes/simplify.h"

namespace samite::autodiff {
namespace {

using namespace ir;

class Deriver {
 public:
  Deriver(const Kernel &primal, const std::vector<bool> &active)
      : primal_(primal),
        active_array_(active),
        activity_(find_activity(primal, active)),
        primal_value_(primal.local_count),
        tangent_(primal.local_count),
        primal_array_(primal.local_array_count),
        tangent_array_(primal.local_array_count) {}

  Tangent run() {
    Tangent result;
    Kernel &kernel = result.kernel;
    kernel.name = primal_.name + "_tangent";
    kernel.parameters = primal_.parameters;
    kernel.launch_rank = primal_.launch_rank;
    kernel.where = primal_.where;
    for (std::uint32_t i = 0; i < active_array_.size(); ++i) {
      tangent_parameter_.push_back(static_cast<std::uint32_t>(kernel.parameters.size()));
      if (!active_array_[i]) continue;
      const Parameter &parameter = primal_.parameters[i];
      kernel.parameters.push_back({derived_name(kernel.parameters, parameter, "_tangent"), parameter.type,
                                   parameter.rank, parameter.read_only, Role::Gradient, i});
      kernel.parameters.back().last_extent = parameter.last_extent;
      result.gradient_of.push_back(i);
    }
    block(primal_.body);
    kernel.body = build_.take();
    kernel.local_count = build_.local_count();
    kernel.local_array_count = build_.local_array_count();
    return result;
  }

 private:
  bool active(const Value &value) const {
    return value.is_local() && is_floating(value.type()) && activity_.local[value.id()];
  }

  Value value(const Value &primal) const {
    if (!primal.is_local()) return primal;
    internal_check(primal_value_[primal.id()].has_value(), "the tangent reads a value before its definition");
    return *primal_value_[primal.id()];
  }
  std::vector<Value> values(const std::vector<Value> &primal) const {
    std::vector<Value> mapped;
    for (const Value &v : primal) mapped.push_back(value(v));
    return mapped;
  }
  Stmt mapped(const Stmt &stmt) const {
    return map_operands(stmt, [&](const Value &primal) { return value(primal); });
  }
  Value tangent(const Value &primal) const {
    return active(primal) ? *tangent_[primal.id()] : Value::zero(primal.type());
  }

  LocalId define(std::vector<std::optional<Value>> &where, LocalId primal, ScalarType type) {
    where[primal] = Value::local(type, build_.new_local());
    return where[primal]->id();
  }

  void block(const Block &statements) {
    for (const Stmt &stmt : statements) {
      build_.at(stmt.where());
      visit(
          stmt, [&](const Let &l) { let(l); }, [&](const Store &s) { store(s); },
          [&](const Accumulate &a) { accumulate(a); }, [&](const Allocate &a) { allocate(a); },
          [&](const LocalStore &s) { local_store(s); }, [&](const Print &) { build_.append(mapped(stmt)); },
          [&](const Check &) { build_.append(mapped(stmt)); },
          [&](const If &branch) { this->branch(branch, stmt.where()); }, [&](const For &l) { loop(l, stmt.where()); },
          [&](const While &l) { loop(l, stmt.where()); }, [&](const CustomAdjoint &c) { custom(c, stmt.where()); },
          [](const CapturedOnly auto &) { internal_check(false, "a statement of the captured form"); });
    }
  }

  void let(const Let &let) {
    const Operation &primal = let.value;
    Operation operation = primal;
    operation.operands = values(operation.operands);
    if (primal.op == Op::LocalLoad) operation.array = *primal_array_[primal.array];
    Value result = build_.operation(operation);
    primal_value_[let.local] = result;
    // What an exchange leaves is zero, with a tangent of zero, whoever looks at what it took.
    bool leaves_zero = primal.op == Op::Exchange && active_array_[primal.array];
    if (!activity_.local[let.local] && !leaves_zero) return;
    if (primal.op == Op::LocalLoad) {
      tangent_[let.local] = build_.local_load(primal.type, *tangent_array_[primal.array], operation.operands[0]);
      return;
    }
    if (info(primal.op).typing == Typing::Load) {
      operation.array = tangent_parameter_[primal.array];
      tangent_[let.local] = build_.operation(std::move(operation));
      return;
    }
    auto all = partials(build_, operation, result);
    Value sum = Value::zero(primal.type);
    for (std::size_t i = 0; i < all.size(); ++i)
      if (active(primal.operands[i]))
        sum = build_(Op::Add, {sum, apply(build_, all[i], tangent(primal.operands[i]), primal.type)});
    tangent_[let.local] = sum;
  }

  void store(const Store &store) {
    auto indices = values(store.indices);
    build_.append({Store{store.array, indices, value(store.value)}, build_.where()});
    if (active_array_[store.array])
      build_.append({Store{tangent_parameter_[store.array], indices, tangent(store.value)}, build_.where()});
  }

  void accumulate(const Accumulate &accumulate) {
    auto indices = values(accumulate.indices);
    build_.append({Accumulate{accumulate.array, indices, value(accumulate.value), accumulate.atomic}, build_.where()});
    if (active_array_[accumulate.array] && active(accumulate.value))
      build_.append(
          {Accumulate{tangent_parameter_[accumulate.array], indices, tangent(accumulate.value), accumulate.atomic},
           build_.where()});
  }

  void allocate(const Allocate &allocate) {
    Value size = value(allocate.size);
    primal_array_[allocate.array] = build_.allocate(allocate.type, size);
    if (is_floating(allocate.type)) tangent_array_[allocate.array] = build_.allocate(allocate.type, size);
  }

  void local_store(const LocalStore &store) {
    Value index = value(store.index);
    build_.local_store(*primal_array_[store.array], index, value(store.value));
    if (is_floating(store.value.type())) build_.local_store(*tangent_array_[store.array], index, tangent(store.value));
  }

  void custom(const CustomAdjoint &custom, SourceLocation where) {
    for (const CustomResult &result : custom.results)
      if (activity_.local[result.local])
        throw UserError(where, "the tangent of kernel '" + primal_.name +
                                   "' cannot be derived: this function has an adjoint of its own, which says nothing "
                                   "of its tangent. Mend it by calling the function without that adjoint, or by "
                                   "stop_gradient on its arguments");
    for (const CustomOperand &each : custom.operands) primal_value_[each.inner] = value(each.operand);
    block(custom.primal);
    for (const CustomResult &result : custom.results) primal_value_[result.local] = value(result.value);
  }

  void branch(const If &branch, SourceLocation where) {
    If copy{value(branch.condition), {}, {}, {}};
    std::vector<Value> then_values;
    auto side = [&](const Block &statements, Value BranchResult::*chosen, auto &&take) {
      block(statements);
      for (const BranchResult &result : branch.results) {
        take(value(result.*chosen));
        if (activity_.local[result.local]) take(tangent(result.*chosen));
      }
    };
    Block outer = build_.open();
    side(branch.then_block, &BranchResult::then_value, [&](Value v) { then_values.push_back(v); });
    copy.then_block = build_.close({});
    std::size_t next = 0;
    side(branch.else_block, &BranchResult::else_value, [&](Value v) {
      copy.results.push_back({0, v.type(), then_values[next], v});
      ++next;
    });
    copy.else_block = build_.close(std::move(outer));
    next = 0;
    for (const BranchResult &result : branch.results) {
      copy.results[next++].local = define(primal_value_, result.local, result.type);
      if (activity_.local[result.local]) copy.results[next++].local = define(tangent_, result.local, result.type);
    }
    build_.append({std::move(copy), where});
  }

  std::vector<Carried> enter(const std::vector<Carried> &carried) {
    std::vector<Carried> copy;
    for (const Carried &c : carried) {
      Value initial = value(c.initial), initial_tangent = tangent(c.initial);
      copy.push_back({define(primal_value_, c.inner, c.type), 0, c.type, initial, initial});
      if (activity_.local[c.inner])
        copy.push_back({define(tangent_, c.inner, c.type), 0, c.type, initial_tangent, initial_tangent});
    }
    return copy;
  }
  void close_carried(const std::vector<Carried> &carried, std::vector<Carried> &copy) {
    std::size_t next = 0;
    for (const Carried &c : carried) {
      copy[next++].next = value(c.next);
      if (activity_.local[c.inner]) copy[next++].next = tangent(c.next);
    }
  }
  void leave(const std::vector<Carried> &carried, std::vector<Carried> &copy) {
    std::size_t next = 0;
    for (const Carried &c : carried) {
      copy[next++].result = define(primal_value_, c.result, c.type);
      if (!activity_.local[c.inner]) continue;
      copy[next].result = build_.new_local();
      if (activity_.local[c.result]) tangent_[c.result] = Value::local(c.type, copy[next].result);
      ++next;
    }
  }

  void loop(const For &loop, SourceLocation where) {
    For copy{0, loop.type, value(loop.begin), value(loop.end), value(loop.step), {}, enter(loop.carried), loop.kind};
    Block outer = build_.open();
    copy.index = define(primal_value_, loop.index, loop.type);
    block(loop.body);
    close_carried(loop.carried, copy.carried);
    copy.body = build_.close(std::move(outer));
    leave(loop.carried, copy.carried);
    build_.append({std::move(copy), where});
  }

  void loop(const While &loop, SourceLocation where) {
    While copy{{}, loop.condition, {}, enter(loop.carried)};
    Block outer = build_.open();
    block(loop.condition_block);
    copy.condition = value(loop.condition);
    copy.condition_block = build_.close({});
    block(loop.body);
    close_carried(loop.carried, copy.carried);
    copy.body = build_.close(std::move(outer));
    leave(loop.carried, copy.carried);
    build_.append({std::move(copy), where});
  }

  const Kernel &primal_;
  const std::vector<bool> &active_array_;
  Activity activity_;
  std::vector<std::uint32_t> tangent_parameter_;  // primal parameter -> its tangents, where active
  std::vector<std::optional<Value>> primal_value_, tangent_;
  std::vector<std::optional<LocalArrayId>> primal_array_, tangent_array_;
  passes::Builder build_;
};

}  // namespace

Tangent derive_tangent(const Kernel &structured, const std::vector<bool> &active) {
  refuse_unordered_atomics(structured, active);
  refuse_lost_gradients(structured, lost_gradients(structured, active));
  Tangent tangent = Deriver(structured, active).run();
  tangent.kernel = passes::simplify(tangent.kernel);
  return tangent;
}

}  // namespace samite::autodiff
