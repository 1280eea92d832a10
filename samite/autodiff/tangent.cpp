#include "samite/autodiff/tangent.h"

#include "samite/autodiff/activity.h"
#include "samite/autodiff/adjoint.h"
#include "samite/autodiff/adjoint_call.h"
#include "samite/autodiff/linearity.h"
#include "samite/autodiff/refusal.h"
#include "samite/autodiff/rules.h"
#include "samite/autodiff/tile_rules.h"
#include "samite/base/error.h"
#include "samite/ir/visit.h"
#include "samite/passes/adjoint/inline_primals.h"
#include "samite/passes/simplify/promote.h"
#include "samite/passes/simplify/rename.h"
#include "samite/passes/simplify/simplify.h"

#include <algorithm>
#include <functional>
#include <unordered_map>

namespace samite::autodiff {
namespace {

using namespace ir;

class TangentDeriver {
 public:
  TangentDeriver(const Kernel &primal, const std::vector<bool> &active)
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
    kernel.block_threads = primal_.block_threads;
    kernel.sums_in_shared = primal_.sums_in_shared;
    kernel.where = primal_.where;
    kernel.launch_rank_where = primal_.launch_rank_where;
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
    if (calls_adjoints_) kernel = passes::promote(expand_adjoint_calls(kernel));
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
    return active(primal) ? *tangent_[primal.id()] : Value::zero(gradient_type(primal.type()));
  }

  LocalId define(std::vector<std::optional<Value>> &where, LocalId primal, Type type) {
    where[primal] = Value::local(type, build_.new_local());
    return where[primal]->id();
  }

  void block(const Block &statements) {
    for (const Stmt &stmt : statements) {
      build_.at(stmt.where());
      visit(
          stmt, [&](const Let &l) { let(l); }, [&](const Store &s) { store(s); },
          [&](const Accumulate &a) { accumulate(a); }, [&](const Allocate &a) { allocate(a); },
          [&](const LocalStore &s) { local_store(s); },
          [](const LoweredOnly auto &) { throw InternalError("a lowered kernel is to be differentiated"); },
          [&](const Print &) { build_.append(mapped(stmt)); }, [&](const Check &) { build_.append(mapped(stmt)); },
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
    // An exchange stores zero, whose tangent is zero, even if its result is unused.
    bool leaves_zero = primal.op == Op::Exchange && active_array_[primal.array];
    if (!activity_.local[let.local] && !leaves_zero) return;
    if (primal.op == Op::LocalLoad) {
      tangent_[let.local] =
          build_.local_load(gradient_type(primal.type), *tangent_array_[primal.array], operation.operands[0]);
      return;
    }
    if (info(primal.op).typing == Typing::Load) {
      operation.array = tangent_parameter_[primal.array];
      tangent_[let.local] = build_.operation(std::move(operation));
      return;
    }
    if (is_tile_operation(primal.op)) {
      std::vector<Value> tangents;
      for (const Value &operand : primal.operands) tangents.push_back(tangent(operand));
      tangent_[let.local] = tile_tangent(build_, operation, result, tangents);
      return;
    }
    auto all = partials(build_, operation, result);
    const Type type = gradient_type(primal.type);
    Value sum = Value::zero(type);
    for (std::size_t i = 0; i < all.size(); ++i)
      if (active(primal.operands[i]))
        sum = build_(Op::Add, {sum, apply_to_tangent(build_, all[i], tangent(primal.operands[i]), type)});
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
    if (is_floating(allocate.type))
      tangent_array_[allocate.array] = build_.allocate(gradient_type(allocate.type), size);
  }

  void local_store(const LocalStore &store) {
    Value index = value(store.index);
    build_.local_store(*primal_array_[store.array], index, value(store.value));
    if (is_floating(store.value.type())) build_.local_store(*tangent_array_[store.array], index, tangent(store.value));
  }

  void custom(const CustomAdjoint &custom, SourceLocation where) {
    for (const CustomOperand &each : custom.operands) primal_value_[each.inner] = value(each.operand);
    block(custom.primal);
    for (const CustomResult &result : custom.results) primal_value_[result.local] = value(result.value);
    const auto is_active = [&](const CustomResult &result) { return bool{activity_.local[result.local]}; };
    if (std::ranges::none_of(custom.results, is_active)) return;
    const CustomAdjoint flat = passes::inline_nested_primals(custom);
    refuse_what_has_no_tangent(flat, where);
    if (std::ranges::count_if(flat.results, is_active) > most_rows && is_reversible(flat))
      return reverse_adjoint(flat, where);
    for (const CustomResult &result : flat.results)
      if (is_active(result)) tangent_[result.local] = transposed(flat, result);
  }

  // Whether the adjoint does nothing but compute gradients of 32 or 64 bits.
  bool is_reversible(const CustomAdjoint &custom) const {
    bool adds = false;
    for_each_statement(custom.adjoint, [&](const Stmt &stmt) { adds = adds || stmt.as<Accumulate>(); });
    const auto is_wide = [](Type type) { return gradient_type(type) == type; };
    return !adds && std::ranges::all_of(custom.results, is_wide, &CustomResult::type) &&
           std::ranges::all_of(custom.operands, [&](const CustomOperand &each) {
             return is_wide(each.operand.type()) && each.gradient.type() == each.operand.type();
           });
  }

  // A linear adjoint multiplies the cotangents of the results by a matrix; its own adjoint multiplies by the transpose:
  // it turns the tangents of the operands into those of all results at once.
  void reverse_adjoint(const CustomAdjoint &custom, SourceLocation where) {
    AdjointCall call;
    for (const CustomResult &result : custom.results) {
      const LocalId inner = define(primal_value_, result.cotangent, result.type), tangent = build_.new_local();
      call.inputs.push_back({inner, tangent, result.type, Value::zero(result.type)});
      if (activity_.local[result.local]) tangent_[result.local] = Value::local(result.type, tangent);
    }
    const auto own_statements = [](const Stmt &, Stmt renamed) {
      return has_effect(renamed) ? Block{} : Block{std::move(renamed)};
    };
    call.primal = renamed_adjoint(custom, own_statements);
    for (const CustomOperand &each : custom.operands)
      if (active(each.operand) && each.gradient.is_local())
        call.seeds.push_back({value(each.gradient), tangent(each.operand)});
    build_.append({std::move(call), where});
    calls_adjoints_ = true;
  }

  // The statements of the adjoint under new names.
  Block renamed_adjoint(const CustomAdjoint &custom, const std::function<Block(const Stmt &, Stmt)> &statement) {
    std::unordered_map<LocalArrayId, LocalArrayId> arrays;
    for_each_statement(custom.adjoint, [&](const Stmt &stmt) {
      for_each_definition(stmt, [&](LocalId local, Type type) { define(primal_value_, local, type); });
      if (auto *allocate = stmt.as<Allocate>()) arrays[allocate->array] = build_.new_local_array();
    });
    return passes::renamed(custom.adjoint, {[&](const Value &v) { return value(v); },
                                            [&](LocalId local) { return primal_value_[local]->id(); },
                                            [&](LocalArrayId array) { return arrays.at(array); }, statement});
  }

  // A linear adjoint multiplies the cotangent of a result by a row of a matrix, which gives the gradients of the
  // operands. With a cotangent of one it gives the row itself. The row times the tangents of the operands is the
  // tangent of the result.
  Value transposed(const CustomAdjoint &custom, const CustomResult &result) {
    for (const CustomResult &other : custom.results)
      primal_value_[other.cotangent] = Value::constant(other.type, other.local == result.local ? 1 : 0);
    // Elements of arrays are operands, too, if the adjoint's block adds to their gradients.
    const Value one = Value::constant(ScalarType::Int32, 1), first = Value::zero(ScalarType::Int32);
    const Type type = gradient_type(result.type);
    const LocalArrayId sum = build_.allocate(type, one);
    build_.local_store(sum, first, Value::zero(type));
    auto add_product = [&](Value gradient, Value tangent) {
      const Value raw = build_(Op::Mul, {build_.cast(tangent.type(), gradient), tangent});
      const Value product = build_.cast(type, zero_of_zero_tangent(build_, tangent, raw));
      build_.local_store(sum, first, build_(Op::Add, {build_.local_load(type, sum, first), product}));
    };
    const auto statement = [&](const Stmt &, Stmt renamed) -> Block {
      auto *accumulate = renamed.as<Accumulate>();
      if (!accumulate) return has_effect(renamed) ? Block{} : Block{std::move(renamed)};
      if (!active_array_[accumulate->array]) return {};
      Block outer = build_.open();
      const Operation load{Op::Load, accumulate->value.type(), accumulate->indices,
                           tangent_parameter_[accumulate->array]};
      add_product(accumulate->value, build_.operation(load));
      return build_.close(std::move(outer));
    };
    for (Stmt &stmt : renamed_adjoint(custom, statement)) build_.append(std::move(stmt));
    for (const CustomOperand &each : custom.operands)
      if (active(each.operand)) add_product(value(each.gradient), tangent(each.operand));
    return build_.local_load(type, sum, first);
  }

  void refuse_what_has_no_tangent(const CustomAdjoint &custom, SourceLocation where) const {
    auto refuse = [&](SourceLocation place, const std::string &why) {
      throw UserError(place, "the tangent of kernel '" + primal_.name +
                                 "' cannot be derived: this function has an adjoint of its own, which " + why +
                                 ". Mend it by calling the function without that adjoint, or by stop_gradient on its "
                                 "arguments");
    };
    if (auto place = nonlinear_in_cotangents(custom, where))
      refuse(*place, "is not linear in the cotangent here, so that no tangent belongs to it");
    std::vector<bool> written(primal_.parameters.size());
    for_each_primal_statement(primal_.body, [&](const Stmt &stmt) {
      if (auto array = array_written(stmt)) written[*array] = true;
    });
    for_each_statement(custom.adjoint, [&](const Stmt &stmt) {
      auto *accumulate = stmt.as<Accumulate>();
      const auto wrote = accumulate && accumulate->of_gradient ? std::nullopt : array_written(stmt);
      if (wrote) refuse(stmt.where(), "writes to array '" + primal_.parameters[*wrote].name + "'");
      const auto read = array_read(stmt);
      if (read && written[*read])
        refuse(stmt.where(), "reads array '" + primal_.parameters[*read].name +
                                 "' as the kernel leaves it; a tangent is computed before that");
    });
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
      if (activity_.local[result.local])
        copy.results[next++].local = define(tangent_, result.local, gradient_type(result.type));
    }
    build_.append({std::move(copy), where});
  }

  std::vector<Carried> enter(const std::vector<Carried> &carried) {
    std::vector<Carried> copy;
    for (const Carried &c : carried) {
      Value initial = value(c.initial), initial_tangent = tangent(c.initial);
      copy.push_back({define(primal_value_, c.inner, c.type), 0, c.type, initial, initial});
      const Type type = gradient_type(c.type);
      if (activity_.local[c.inner])
        copy.push_back({define(tangent_, c.inner, type), 0, type, initial_tangent, initial_tangent});
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
      if (activity_.local[c.result]) tangent_[c.result] = Value::local(gradient_type(c.type), copy[next].result);
      ++next;
    }
  }

  void loop(const For &loop, SourceLocation where) {
    For copy{0,  loop.type,           value(loop.begin), value(loop.end), value(loop.step),
             {}, enter(loop.carried), loop.kind,         loop.stages};
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

  // Beyond this many results of a custom adjoint, its adjoint takes less than a run of it for each of them.
  static constexpr std::ptrdiff_t most_rows = 8;

  const Kernel &primal_;
  const std::vector<bool> &active_array_;
  Activity activity_;
  bool calls_adjoints_ = false;
  std::vector<std::uint32_t> tangent_parameter_;  // primal parameter -> its tangents, if active
  std::vector<std::optional<Value>> primal_value_, tangent_;
  std::vector<std::optional<LocalArrayId>> primal_array_, tangent_array_;
  passes::Builder build_;
};

}  // namespace

Tangent derive_tangent(const Kernel &structured, const std::vector<bool> &active) {
  refuse_unordered_atomics(structured, active);
  refuse_lost_gradients(structured, lost_gradients(structured, active));
  Tangent tangent = TangentDeriver(structured, active).run();
  tangent.kernel = passes::simplify(tangent.kernel);
  return tangent;
}

}  // namespace samite::autodiff
