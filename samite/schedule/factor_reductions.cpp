#include "samite/schedule/factor_reductions.h"

#include "samite/base/error.h"
#include "samite/passes/simplify/fold.h"
#include "samite/schedule/copy_statements.h"
#include "samite/schedule/identity.h"
#include "samite/schedule/joint_steps.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <ranges>
#include <set>

namespace samite::schedules {
namespace {

using namespace ir;
using passes::Affine;
using passes::Symbol;
using DirectiveKind = Directive::Kind;

// For f(i) = f(i) op value.
struct Combining {
  Op op;
  Value value;
};

// Appends operations on 32-bit integers to a block.
class IndexOperations {
 public:
  IndexOperations(Block &block, LocalId &next, SourceLocation where) : block_(block), next_(next), where_(where) {}

  Value operator()(Op op, const Value &a, const Value &b) { return made({op, ScalarType::Int32, {a, b}}); }
  Value index(const Value &value) {
    return value.type() == Type(ScalarType::Int32) ? value : made({Op::Cast, ScalarType::Int32, {value}});
  }
  // For non-negative numbers.
  Value quotient(const Value &a, std::int64_t by) {
    if ((by & (by - 1)) == 0 && by > 1)
      return (*this)(Op::ShiftRight, a, number(__builtin_ctzll(static_cast<unsigned long long>(by))));
    return (*this)(Op::Div, a, number(by));
  }
  Value number(std::int64_t value) const { return Value::constant(ScalarType::Int32, value); }

 private:
  Value made(Operation operation) {
    if (const auto folded = passes::fold(operation)) return *folded;
    const Value local = Value::local(operation.type, next_++);
    block_.emplace_back(Let{local.id(), std::move(operation)}, where_);
    return local;
  }

  Block &block_;
  LocalId &next_;
  SourceLocation where_;
};

class Factoring {
 public:
  Factoring(Algorithm &algorithm, std::vector<Directive> before, const Directive &rfactor)
      : algorithm_(algorithm),
        before_(std::move(before)),
        rfactor_(rfactor),
        function_(algorithm.functions.at(rfactor.func)),
        partial_(algorithm.functions.at(rfactor.other.value())),
        old_(definition(function_, rfactor)),
        schedule_(loops_of(algorithm, before_, rfactor.func, rfactor.definition)) {}

  std::vector<Directive> factored() {
    for (const Directive &directive : before_)
      if (is_about_update(directive) && (directive.specialization || directive.kind == DirectiveKind::specialize))
        fail(fmt::format("{} is specialized before; say rfactor first", described()));
    find_loops();
    find_steps();
    define_partial();
    define_rest();
    return directives();
  }

 private:
  static const Definition &definition(const Function &function, const Directive &rfactor) {
    if (rfactor.definition >= function.definitions.size())
      throw UserError(rfactor.where, fmt::format("'{}' has no update({})", function.name, rfactor.definition - 1));
    return function.definitions[rfactor.definition];
  }

  std::string described() const { return fmt::format("update({}) of '{}'", rfactor_.definition - 1, function_.name); }
  [[noreturn]] void fail(const std::string &text) const { throw UserError(rfactor_.where, "rfactor: " + text); }

  bool is_about_update(const Directive &directive) const {
    return directive.func == rfactor_.func && directive.definition == rfactor_.definition;
  }

  std::size_t rank() const { return old_.indices.size(); }
  const std::string &root_of(std::size_t reduction) const { return schedule_.roots[rank() + reduction]; }

  // The variables from which a loop, current or former, was made.
  std::set<std::string> roots_of(const std::string &loop) const {
    const std::set<std::string> names = schedule_.made_of(loop);
    std::set<std::string> roots;
    for (const std::string &root : schedule_.roots)
      if (!root.empty() && names.contains(root)) roots.insert(root);
    return roots;
  }
  static bool meet(const std::set<std::string> &a, const std::set<std::string> &b) {
    return std::ranges::any_of(a, [&](const std::string &name) { return b.contains(name); });
  }

  bool is_kept(const std::string &loop) const { return kept_.contains(loop); }
  bool is_affected(const std::string &loop) const { return meet(roots_of(loop), affected_); }
  bool is_pure(const std::string &loop) const { return meet(roots_of(loop), pure_); }

  // Finds the loops that f keeps, and the reduction variables whose loops become separate variables.
  void find_loops() {
    std::set<std::string> reductions, taken;
    for (std::size_t d = 0; d < rank(); ++d) {
      if (!schedule_.roots[d].empty()) pure_.insert(schedule_.roots[d]);
      taken.insert(function_.definitions[0].pure[d]->name);
    }
    for (const Loop &loop : schedule_.loops)
      if (!is_pure(loop.name)) reductions.insert(loop.name);
    for (std::size_t i = 0; i + 1 < rfactor_.names.size(); i += 2) {
      const std::string &name = rfactor_.names[i];
      if (!reductions.contains(name))
        fail(fmt::format("{} has no loop '{}' of a Reduction; it has: {}", described(), name,
                         reductions.empty() ? "none" : fmt::format("{}", fmt::join(reductions, ", "))));
      if (!kept_.insert({name, i / 2}).second) fail(fmt::format("loop '{1}' of {0} is named twice", described(), name));
      affected_.merge(roots_of(name));
    }
    for (bool grows = true; grows;) {
      const std::size_t before = affected_.size();
      for (const Loop &loop : schedule_.loops)
        if (is_affected(loop.name)) affected_.merge(roots_of(loop.name));
      grows = affected_.size() != before;
    }
    if (meet(affected_, pure_))
      fail(fmt::format("in {}, a loop of a Reduction is fused with one of a variable of '{}' itself; do not fuse them",
                       described(), function_.name));
    for (const std::string &name : reductions)
      if (!is_kept(name)) taken.insert(name);
    for (std::size_t i = 1; i < rfactor_.names.size(); i += 2)
      if (!taken.insert(rfactor_.names[i]).second)
        fail(fmt::format(
            "of {}, with the new variable '{}', which has a variable or a loop of that name; give it a name of its own",
            described(), rfactor_.names[i]));
    for (const Relation &relation : schedule_.relations)
      if (relation.kind == Relation::Kind::split && is_affected(relation.whole) && relation.tail == Tail::shift_inwards)
        fail(fmt::format(
            "{} is split with a tail shifted inwards, which would update some elements twice; use Tail::guard",
            described()));
  }

  const Operation *made_by(const Value &value) const {
    for (const Stmt &stmt : old_.body)
      if (const Let *let = stmt.as<Let>(); value.is_local() && let->local == value.id()) return &let->value;
    return nullptr;
  }

  // Whether f iterates over its loops of the reduction in the reduction's own order, the kept ones first.
  bool parts_follow_each_other() const {
    std::vector<std::string> order;
    for (std::size_t r = 0; r < old_.reductions.size(); ++r) order.push_back(root_of(r));
    for (const Relation &relation : schedule_.relations) {
      const auto find = [&](const std::string &name) { return std::ranges::find(order, name); };
      if (relation.kind == Relation::Kind::fuse) {
        const auto outer = find(relation.outer);
        if (outer == order.end()) continue;
        if (outer + 1 == order.end() || *(outer + 1) != relation.inner) return false;
        *outer = relation.whole;
        order.erase(outer + 1);
      } else if (const auto whole = find(relation.whole); whole != order.end()) {
        *whole = relation.outer;
        if (relation.kind == Relation::Kind::split) order.insert(whole + 1, relation.inner);
      }
    }
    std::vector<std::string> loops;
    for (const Loop &loop : schedule_.loops)
      if (!is_pure(loop.name)) loops.push_back(loop.name);
    return loops == order && std::all_of(loops.begin(), loops.begin() + static_cast<std::ptrdiff_t>(kept_.size()),
                                         [&](const std::string &loop) { return is_kept(loop); });
  }

  void find_steps() {
    std::vector<Value> others = old_.indices;
    joint_ = joint_step_of(function_, old_);
    if (joint_ && !identity_of(*joint_, function_.types)) joint_.reset();
    if (joint_ && joint_->kind == JointStep::Kind::chosen && !parts_follow_each_other())
      fail(
          fmt::format("{} finds the place of a value, and of equal ones the first: its partial results have to follow "
                      "each other as its Reduction does; give the outermost loops of the Reduction, in its order",
                      described()));
    if (joint_) {
      others.insert(others.end(), joint_->with.begin(), joint_->with.end());
      return refuse_own_calls(std::move(others));
    }
    for (std::uint32_t v = 0; v < old_.values.size(); ++v) {
      const Operation *made = made_by(old_.values[v]);
      const auto is_own = [&](const Value &value) {
        const Operation *load = made_by(value);
        return load && load->op == Op::Load && load->array == function_.array + v && load->operands == old_.indices;
      };
      std::optional<Combining> step;
      if (made && identity_of(made->op, function_.types[v])) {
        if (is_own(made->operands[0]))
          step = Combining{made->op, made->operands[1]};
        else if (made->op != Op::Sub && is_own(made->operands[1]))
          step = Combining{made->op, made->operands[0]};
      }
      if (!step)
        fail(
            fmt::format("{}{} is not {}(…) op value, where op is +, -, *, min, max, &, | or ^, which may be done in "
                        "any order; write the Func of partial results out",
                        described(), old_.values.size() > 1 ? fmt::format(", value {},", v) : "", function_.name));
      steps_.push_back(*step);
      others.push_back(step->value);
    }
    refuse_own_calls(std::move(others));
  }

  // The operands of the steps must not depend on the Func.
  void refuse_own_calls(std::vector<Value> others) const {
    if (old_.predicate) others.push_back(*old_.predicate);
    for (const Stmt &stmt : needed_for(old_.body, others))
      if (const Operation &of = stmt.as<Let>()->value;
          of.op == Op::Load && of.array >= function_.array && of.array < function_.array + function_.types.size())
        fail(fmt::format(
            "{} reads '{}' elsewhere, too, so that its steps have an order; write it out, or leave it as it is",
            described(), function_.name));
  }

  // By loop, or by the loop it was split from: the number of iterations.
  using Numbers = std::map<std::string, Value>;

  Numbers extents_in(Block &block, StatementCopy &copy) {
    copy.copy(old_.bounds, block);
    IndexOperations integers(block, algorithm_.local_count, rfactor_.where);
    Numbers extents;
    for (std::size_t r = 0; r < old_.reductions.size(); ++r)
      extents.insert_or_assign(root_of(r), integers.index(copy(old_.reductions[r].extent)));
    for (const Relation &relation : schedule_.relations) {
      if (!is_affected(relation.kind == Relation::Kind::fuse ? relation.outer : relation.whole)) continue;
      switch (relation.kind) {
        case Relation::Kind::split: {
          const Value more = integers(Op::Add, extents.at(relation.whole), integers.number(relation.factor - 1));
          extents.insert_or_assign(relation.outer, integers.quotient(more, relation.factor));
          extents.insert_or_assign(relation.inner, integers.number(relation.factor));
          break;
        }
        case Relation::Kind::fuse:
          extents.insert_or_assign(relation.whole,
                                   integers(Op::Mul, extents.at(relation.outer), extents.at(relation.inner)));
          break;
        case Relation::Kind::rename: extents.insert_or_assign(relation.outer, extents.at(relation.whole)); break;
      }
    }
    return extents;
  }

  std::optional<std::size_t> reduction_of(const std::string &root) const {
    for (std::size_t r = 0; r < old_.reductions.size(); ++r)
      if (root_of(r) == root) return r;
    return std::nullopt;
  }

  // A reduction variable for a loop of f's update, starting at 0 unless it is f's own variable.
  ReductionVariable variable_of(const std::string &loop, const Numbers &extents, const StatementCopy &bounds) {
    const Variable variable{loop, algorithm_.local_count++, rfactor_.where};
    const auto root = reduction_of(loop);
    return {variable, root ? bounds(old_.reductions[*root].begin) : Value::constant(ScalarType::Int32, 0),
            extents.at(loop)};
  }

  // Its values before any step.
  Definition pure_partial(const std::vector<std::optional<Variable>> &variables) const {
    Definition pure;
    pure.where = rfactor_.where;
    pure.indices = function_.definitions[0].indices;
    pure.pure = function_.definitions[0].pure;
    for (const auto &variable : variables) {
      pure.indices.push_back(Value::local(ScalarType::Int32, variable->local));
      pure.pure.push_back(variable);
    }
    if (joint_) pure.values = *identity_of(*joint_, function_.types);
    for (std::size_t v = 0; v < steps_.size(); ++v)
      pure.values.push_back(*identity_of(steps_[v].op, function_.types[v]));
    return pure;
  }

  void define_partial() {
    std::vector<std::optional<Variable>> variables;
    for (std::size_t i = 1; i < rfactor_.names.size(); i += 2)
      variables.emplace_back(Variable{rfactor_.names[i], algorithm_.local_count++, rfactor_.where});

    Definition update;
    update.where = old_.where;
    StatementCopy bounds(algorithm_.local_count), body(algorithm_.local_count);
    const Numbers extents = extents_in(update.bounds, bounds);
    std::map<std::string, Affine> values;
    std::map<LocalId, Affine> instead;  // of variables of the reduction: the new indices
    std::set<std::size_t> added;
    for (const Loop &loop : schedule_.loops) {
      if (is_pure(loop.name)) continue;
      const auto root = reduction_of(loop.name);
      if (const auto kept = kept_.find(loop.name); kept != kept_.end()) {
        const Value index = Value::local(ScalarType::Int32, variables[kept->second]->local);
        values.insert_or_assign(loop.name, Symbol::local(index.id()));
        if (!root) {
          // The Func's schedule may compute more of its dimension than the loop has iterations.
          update.guards.push_back({values.at(loop.name), values.at(loop.name), 1, extents.at(loop.name)});
          continue;
        }
        body.put(old_.reductions[*root].variable.local, index);
        instead.insert_or_assign(old_.reductions[*root].variable.local, Symbol::local(index.id()));
      } else if (is_affected(loop.name) && !root) {
        update.reductions.push_back(variable_of(loop.name, extents, bounds));
        values.insert_or_assign(loop.name, Symbol::local(update.reductions.back().variable.local));
      } else {
        for (const std::string &name : roots_of(loop.name)) {
          const std::size_t r = reduction_of(name).value();
          if (!added.insert(r).second) continue;
          ReductionVariable same = old_.reductions[r];
          same.begin = bounds(same.begin);
          same.extent = bounds(same.extent);
          update.reductions.push_back(std::move(same));
        }
      }
    }
    join(std::move(values), extents, bounds, update);
    const auto renamed = [&](Affine form) {
      for (const auto &[local, by] : instead) form = form.substitute(Symbol::local(local), by);
      return form;
    };
    for (const JoinedVariable &joined : old_.joined)
      update.joined.push_back({joined.variable, renamed(joined.value), bounds(joined.begin), bounds(joined.extent)});
    for (const Guard &guard : old_.guards)
      update.guards.push_back({renamed(guard.value), renamed(guard.outer), guard.factor, bounds(guard.extent)});

    std::vector<Value> needed = old_.indices;
    for (const Combining &step : steps_) needed.push_back(step.value);
    if (joint_) needed.insert(needed.end(), joint_->with.begin(), joint_->with.end());
    if (old_.predicate) needed.push_back(*old_.predicate);
    body.copy(needed_for(old_.body, needed), update.body);
    for (const Value &index : old_.indices) update.indices.push_back(body(index));
    update.pure = old_.pure;
    for (const auto &variable : variables) {
      update.indices.push_back(Value::local(ScalarType::Int32, variable->local));
      update.pure.push_back(variable);
    }
    if (joint_) {
      std::vector<Value> with;
      for (const Value &value : joint_->with) with.push_back(body(value));
      update.values = step_with(*joint_, loads(update.body, partial_.array, update.indices), with, update.body,
                                algorithm_.local_count, rfactor_.where);
    }
    for (std::uint32_t v = 0; v < steps_.size(); ++v) {
      const Op op = steps_[v].op == Op::Sub ? Op::Add : steps_[v].op;
      update.values.push_back(
          combined(update.body, op, partial_.array + v, update.indices, body(steps_[v].value), function_.types[v]));
    }
    if (old_.predicate) update.predicate = body(*old_.predicate);
    partial_.definitions = {pure_partial(variables), std::move(update)};
  }

  // All values of an element.
  std::vector<Value> loads(Block &block, std::uint32_t array, const std::vector<Value> &indices) {
    std::vector<Value> all;
    for (const ScalarType type : function_.types) {
      all.push_back(Value::local(type, algorithm_.local_count++));
      block.emplace_back(Let{all.back().id(), {Op::Load, type, indices, array++}}, rfactor_.where);
    }
    return all;
  }

  Value combined(Block &block, Op op, std::uint32_t array, const std::vector<Value> &indices, const Value &with,
                 ScalarType type) {
    const Value own = Value::local(type, algorithm_.local_count++),
                result = Value::local(type, algorithm_.local_count++);
    block.emplace_back(Let{own.id(), {Op::Load, type, indices, array}}, rfactor_.where);
    block.emplace_back(Let{result.id(), {op, type, {own, with}}}, rfactor_.where);
    return result;
  }

  // Maps loops back to the variables that they were split from. Iterations beyond a shorter last chunk are skipped.
  void join(std::map<std::string, Affine> values, const Numbers &extents, const StatementCopy &bounds,
            Definition &update) const {
    for (const auto &relation : std::views::reverse(schedule_.relations)) {
      if (!is_affected(relation.kind == Relation::Kind::fuse ? relation.outer : relation.whole)) continue;
      switch (relation.kind) {
        case Relation::Kind::split: {
          const Affine outer = values.at(relation.outer), value = outer * relation.factor + values.at(relation.inner);
          const Value &extent = extents.at(relation.whole);
          const bool divides = extent.is_constant() && extent.as_int() % relation.factor == 0;
          // Even if the tail is rounded up: values beyond the range of a reduction do not belong to it.
          if (!divides) update.guards.push_back({value, outer, relation.factor, extent});
          values.insert_or_assign(relation.whole, value);
          break;
        }
        case Relation::Kind::fuse: {
          const Affine fused = values.at(relation.whole);
          const Value &inner = extents.at(relation.inner);
          if (!inner.is_constant() || inner.as_int() < 1)
            fail(
                fmt::format("in {}, '{}' is fused with '{}', whose number of iterations is known at launch only; do "
                            "not fuse them, or split the inner one first",
                            described(), relation.outer, relation.inner));
          values.insert_or_assign(relation.outer, quotient(fused, inner.as_int()));
          values.insert_or_assign(relation.inner, remainder(fused, inner.as_int()));
          break;
        }
        case Relation::Kind::rename: values.insert_or_assign(relation.whole, values.at(relation.outer)); break;
      }
    }
    for (std::size_t r = 0; r < old_.reductions.size(); ++r) {
      const ReductionVariable &reduction = old_.reductions[r];
      if (!affected_.contains(root_of(r)) || schedule_.loop(root_of(r))) continue;
      const Affine &value = values.at(root_of(r));
      if (!value.known()) fail(fmt::format("{} is split too often before; split the new loops behind", described()));
      update.joined.push_back({reduction.variable, value, bounds(reduction.begin), extents.at(root_of(r))});
    }
  }

  // f's update, through the partial results.
  void define_rest() {
    Definition rest;
    rest.where = old_.where;
    StatementCopy bounds(algorithm_.local_count), body(algorithm_.local_count);
    const Numbers extents = extents_in(rest.bounds, bounds);
    std::vector<Value> through(kept_.size(), Value::zero(ScalarType::Int32));
    std::set<LocalId> left;  // variables of f's reduction that it still iterates over
    for (const Loop &loop : schedule_.loops) {
      const auto kept = kept_.find(loop.name);
      if (kept == kept_.end()) continue;
      rest.reductions.push_back(variable_of(loop.name, extents, bounds));
      const Value value = Value::local(ScalarType::Int32, rest.reductions.back().variable.local);
      through[kept->second] = value;
      if (const auto r = reduction_of(loop.name)) {
        left.insert(old_.reductions[*r].variable.local);
        body.put(old_.reductions[*r].variable.local, value);
      }
    }
    for (std::size_t d = 0; d < rank(); ++d) {
      const Definition &pure = function_.definitions[0];
      if (old_.pure[d]) {
        rest.indices.push_back(old_.indices[d]);
        rest.pure.push_back(old_.pure[d]);
      } else if (goes_through(old_.indices[d], left)) {
        body.copy(needed_for(old_.body, {old_.indices[d]}), rest.body);
        rest.indices.push_back(body(old_.indices[d]));
        rest.pure.emplace_back(std::nullopt);
      } else {
        rest.indices.push_back(pure.indices[d]);
        rest.pure.push_back(pure.pure[d]);
      }
    }
    std::vector<Value> indices = rest.indices;
    indices.insert(indices.end(), through.begin(), through.end());
    if (joint_) {
      const std::vector<Value> own = loads(rest.body, function_.array, rest.indices),
                               parts = loads(rest.body, partial_.array, indices);
      rest.values = step_with(*joint_, own, parts, rest.body, algorithm_.local_count, rfactor_.where);
    }
    for (std::uint32_t v = 0; v < steps_.size(); ++v) {
      const ScalarType type = function_.types[v];
      const Value part = Value::local(type, algorithm_.local_count++);
      rest.body.emplace_back(Let{part.id(), {Op::Load, type, indices, partial_.array + v}}, rfactor_.where);
      rest.values.push_back(combined(rest.body, steps_[v].op, function_.array + v, rest.indices, part, type));
    }
    algorithm_.functions[rfactor_.func].definitions[rfactor_.definition] = std::move(rest);
  }

  // Whether an index depends on no other variables of the reduction than these.
  bool goes_through(const Value &index, const std::set<LocalId> &left) const {
    const std::set<LocalId> used = dependencies_of(old_.body, {index});
    return std::ranges::none_of(old_.joined,
                                [&](const auto &joined) { return used.contains(joined.variable.local); }) &&
           std::ranges::all_of(old_.reductions, [&](const ReductionVariable &reduction) {
             return !used.contains(reduction.variable.local) || left.contains(reduction.variable.local);
           });
  }

  static DirectiveKind kind_of(LoopType type) {
    switch (type) {
      case LoopType::serial: return DirectiveKind::serial;
      case LoopType::unrolled: return DirectiveKind::unroll;
      case LoopType::vectorized: return DirectiveKind::vectorize;
      case LoopType::parallel: return DirectiveKind::parallel;
      case LoopType::gpu_block: return DirectiveKind::gpu_block;
      case LoopType::gpu_thread: return DirectiveKind::gpu_thread;
    }
    return DirectiveKind::serial;
  }

  std::vector<Directive> directives() const {
    std::vector<Directive> made;
    const auto of_partial = [&](Directive directive) {
      directive.func = rfactor_.other.value();
      directive.definition = 1;
      made.push_back(std::move(directive));
    };
    bool reordered = false;
    std::vector<Directive> of_order;
    for (const Directive &directive : before_) {
      if (!is_about_update(directive)) {
        made.push_back(directive);
      } else if (directive.kind == DirectiveKind::reorder) {
        reordered = true;
        Directive of_f = directive, of_other = directive;
        std::erase_if(of_f.names, [&](const std::string &name) { return !is_pure(name); });
        std::erase_if(of_other.names, [&](const std::string &name) { return is_pure(name) || is_affected(name); });
        if (of_f.names.size() > 1) made.push_back(std::move(of_f));
        if (of_other.names.size() > 1) of_partial(std::move(of_other));
      } else if (is_about_loops(directive.kind)) {
        if (is_pure(directive.names.at(0)))
          made.push_back(directive);
        else if (!is_affected(directive.names[0]))
          of_partial(directive);
      } else if (directive.kind == DirectiveKind::pipelined) {
        of_partial(directive);
      } else {
        if (directive.kind == DirectiveKind::atomic || directive.kind == DirectiveKind::allow_race_conditions)
          of_order.push_back(directive);
        made.push_back(directive);
      }
    }
    Directive more{.kind = DirectiveKind::reorder, .func = rfactor_.func, .definition = rfactor_.definition};
    more.where = rfactor_.where;
    bool any_order = false;
    for (const Loop &loop : schedule_.loops) {
      if (is_pure(loop.name) || loop.type == LoopType::serial) continue;
      any_order = any_order || (!is_kept(loop.name) && loop.type != LoopType::unrolled);
      if (!is_affected(loop.name)) continue;
      Directive typed = more;
      typed.kind = kind_of(loop.type);
      typed.names = {loop.name};
      typed.where = loop.where;
      if (is_kept(loop.name))
        made.push_back(std::move(typed));
      else
        of_partial(std::move(typed));
    }
    if (any_order)
      for (const Directive &directive : of_order) of_partial(directive);
    if (reordered) {
      // The current order of the loops, restricted to each.
      Directive of_f = more, of_other = more;
      for (const auto &loop : std::views::reverse(schedule_.loops)) {
        const auto kept = kept_.find(loop.name);
        if (kept != kept_.end()) {
          of_f.names.push_back(loop.name);
          of_other.names.push_back(rfactor_.names[2 * kept->second + 1]);
        } else if (!is_pure(loop.name)) {
          of_other.names.push_back(loop.name);
        } else {
          of_f.names.push_back(loop.name);
          if (pure_.contains(loop.name)) of_other.names.push_back(loop.name);
        }
      }
      if (of_f.names.size() > 1) made.push_back(std::move(of_f));
      if (of_other.names.size() > 1) of_partial(std::move(of_other));
    }
    return made;
  }

  Algorithm &algorithm_;
  const std::vector<Directive> before_;
  const Directive &rfactor_;
  const Function &function_;
  Function &partial_;
  const Definition old_;
  const DefinitionSchedule schedule_;        // of the update so far
  std::map<std::string, std::size_t> kept_;  // loops that f iterates over from here on, with the number of their pair
  std::set<std::string> affected_;           // reduction variables from which kept loops are made
  std::set<std::string> pure_;
  std::vector<Combining> steps_;    // by value
  std::optional<JointStep> joint_;  // instead of these
};

}  // namespace

std::vector<Directive> with_factored_reduction(Algorithm &algorithm, std::vector<Directive> before,
                                               const Directive &rfactor) {
  return Factoring(algorithm, std::move(before), rfactor).factored();
}

}  // namespace samite::schedules
