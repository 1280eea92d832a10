// The terms of gradients: the contribution of each read in a definition to the gradient of the element that it reads.
#include "samite/autodiff/func_deriver.h"
#include "samite/autodiff/rules.h"
#include "samite/base/error.h"

#include <fmt/core.h>

#include <algorithm>
#include <ranges>

namespace samite::autodiff {

using namespace ir;
using passes::Affine;
using passes::Interval;
using passes::Symbol;
using schedules::Definition;

std::map<LocalId, Value> FuncDeriver::pull_back(const Step &step, const Computed &computed) {
  const Definition &definition = step.definition;
  passes::Builder &build = write_.build();
  std::map<LocalId, Value> gradients;
  const auto add = [&](const Value &to, const Value &amount) {
    if (!to.is_local() || !step.varied.contains(to.id()) || amount.is_constant(0)) return;
    const auto [entry, is_new] = gradients.try_emplace(to.id(), amount);
    if (!is_new) entry->second = build(Op::Add, {entry->second, amount});
  };
  const Cotangents cotangents = step.cotangents(computed);
  for (std::size_t v = 0; v < cotangents.size(); ++v)
    if (cotangents[v]) add(definition.values[v], *cotangents[v]);
  for (const Stmt &stmt : definition.body | std::views::reverse) {
    const Let &let = *stmt.as<Let>();
    const auto gradient = gradients.find(let.local);
    if (gradient == gradients.end()) continue;
    build.at(stmt.where());
    if (const auto value = shared_ ? shared_->value.find(let.local) : std::map<LocalId, std::size_t>::iterator();
        shared_ && value != shared_->value.end()) {
      std::vector<Value> place;
      for (const auto &pure : definition.pure) place.push_back(computed.variables.at(pure->local));
      gradient->second = write_.call(shared_->func, value->second, place);
    }
    if (let.value.op == Op::Load) continue;
    Operation operation = let.value;
    for (Value &operand : operation.operands) operand = computed(operand);
    const std::vector<Partial> all = partials(build, operation, computed(Value::local(let.value.type, let.local)));
    for (std::size_t i = 0; i < all.size(); ++i) {
      const Value &operand = let.value.operands[i];
      if (!operand.is_local() || !step.varied.contains(operand.id())) continue;
      add(operand, apply(build, all[i], gradient->second, gradient_type(operand.type())));
    }
  }
  return gradients;
}

void FuncDeriver::distribute(const Step &step, const TargetOf &target_of) {
  // Only reads with a gradient; whether a read has one does not depend on the values of the variables.
  Variables variables;
  for (const auto &[variable, range] : step.box)
    variables.insert_or_assign(variable, Value::local(ScalarType::Int32, write_.build().new_local()));
  const Computed anywhere = compute(step.definition, variables, step.own, step.function);
  const std::map<LocalId, Value> found = pull_back(step, anywhere);
  std::set<LocalId> reads;
  for (const Stmt &stmt : step.definition.body)
    if (const Let &let = *stmt.as<Let>(); let.value.op == Op::Load && found.contains(let.local) && target_of(let.value))
      reads.insert(let.local);
  shared_ = share(step, reads, found);
  for (const Stmt &stmt : step.definition.body) {
    const Let &let = *stmt.as<Let>();
    if (!reads.contains(let.local)) continue;
    grow_region(step, let);
    add_terms(step, let, *target_of(let.value), stmt.where());
  }
  shared_.reset();
}

void FuncDeriver::add_terms(const Step &step, const Let &load, Target &target, SourceLocation where) {
  constexpr std::size_t most_parts = 27;
  const schedules::Forms forms(step.definition.body, algorithm_.promises);
  std::vector<LocalId> variables;
  for (const auto &pure : step.definition.pure)
    if (pure) variables.push_back(pure->local);
  for (const schedules::ReductionVariable &reduction : step.definition.reductions)
    variables.push_back(reduction.variable.local);
  std::vector<Inverse> inverses = invert(forms, load.value.operands, variables);
  std::size_t parts = 1;
  std::erase_if(inverses, [&](const Inverse &inverse) {
    const std::size_t own = 1 + (inverse.low ? 1 : 0) + (inverse.high ? 1 : 0);
    if (parts * own > most_parts) return true;
    parts *= own;
    return false;
  });
  std::vector<Part> part(inverses.size(), Part::inside);
  const std::function<void(std::size_t)> add_from = [&](std::size_t i) {
    if (i == inverses.size()) return add_term({step, load, target, inverses, part, {}, where}, target);
    for (const Part one : {Part::inside, Part::below, Part::above}) {
      if (one == Part::below ? !inverses[i].low : one == Part::above && !inverses[i].high) continue;
      part[i] = one;
      add_from(i + 1);
    }
  };
  add_from(0);
}

std::string FuncDeriver::name_of(const Definition &definition, LocalId variable) const {
  for (const auto &pure : definition.pure)
    if (pure && pure->local == variable) return pure->name;
  for (const schedules::ReductionVariable &reduction : definition.reductions)
    if (reduction.variable.local == variable) return reduction.variable.name;
  throw InternalError("a variable is none of its definition");
}

Interval FuncDeriver::range_of(const Step &step, LocalId variable, SourceLocation where) const {
  const Interval &range = step.box.at(variable);
  if (range.lower.known() && range.upper.known()) return range;
  throw UserError(where,
                  fmt::format("the gradient of this read by '{0}' is a sum over the elements of '{0}' along '{1}'"
                              ", and no bounds are known for these; clamp the indices at which '{0}' is called",
                              function(step.function).name, name_of(step.definition, variable)));
}

FuncDeriver::Left FuncDeriver::left_variables(const Way &way, Variables &variables) {
  std::map<LocalId, Interval> left = way.step.box;
  for (std::size_t i = 0; i < way.inverses.size(); ++i) {
    const Inverse &inverse = way.inverses[i];
    if (way.parts[i] == Part::inside) {
      left.erase(inverse.variable);
      continue;
    }
    // coefficient * variable + rest is below the lower limit, or above the upper one.
    Interval &range = left.at(inverse.variable);
    range = range_of(way.step, inverse.variable, way.where);
    const bool is_below = way.parts[i] == Part::below;
    const Affine end = ((is_below ? *inverse.low : *inverse.high) - inverse.rest) * inverse.coefficient;
    if (is_below == (inverse.coefficient == 1))
      range.upper = write_.short_form(least(range.upper, end - 1));
    else
      range.lower = write_.short_form(greatest(range.lower, end + 1));
  }
  Left result;
  for (const auto &[variable, range] : left) {
    range_of(way.step, variable, way.where);
    result.ranges.push_back({name_of(way.step.definition, variable), write_.value_of(range.lower),
                             write_.value_of(range.upper - range.lower + 1)});
    result.variables.push_back(variable);
  }
  if (result.ranges.empty()) return result;
  result.now = write_.reduction(result.ranges, way.where);
  const std::vector<Value> &made = result.now;
  for (std::size_t r = 0; r < made.size(); ++r) variables.insert_or_assign(result.variables[r], made[r]);
  result.reduction = write_.last_reduction();
  return result;
}

// The value of the variable at which the definition reads the element, if the conditions hold.
Value FuncDeriver::solved(const Way &way, const Inverse &inverse, const Variables &variables,
                          std::vector<Value> &conditions) {
  passes::Builder &build = write_.build();
  const std::uint32_t array = way.load.value.array;
  const Value element = way.target.variables[inverse.dimension];
  const auto limited = [&](const std::optional<Affine> &limit, Op op, const Affine &always) {
    if (!limit || (*limit == always && array < own_parameters_)) return;
    conditions.push_back(build(op, {element, write_.value_of(*limit)}));
  };
  limited(inverse.low, Op::GreaterEqual, 0);
  limited(inverse.high, Op::LessEqual, Affine(Symbol::extent(array, static_cast<std::int32_t>(inverse.dimension))) - 1);
  Affine rest = inverse.rest;
  for (const auto &[other, value] : variables)
    if (rest.contains(Symbol::local(other))) rest = rest.substitute(Symbol::local(other), write_.name(value));
  const Affine distance = Affine(Symbol::local(element.id())) - rest;
  Value value = write_.value_of(inverse.coefficient == -1 ? distance * -1 : distance);
  if (inverse.coefficient != 1 && inverse.coefficient != -1) {
    const Value by = write_.number(inverse.coefficient);
    const Value quotient = build(Op::Div, {value, by});
    conditions.push_back(build(Op::Equal, {build(Op::Mul, {quotient, by}), value}));
    value = quotient;
  }
  // Gradients are zero beyond what is computed of a Func, and an update may be of all that.
  const bool clamped = way.clamped.contains(inverse.variable);
  const bool everywhere = std::ranges::any_of(
      way.step.definition.pure, [&](const auto &pure) { return pure && pure->local == inverse.variable; });
  if (everywhere && !clamped) return value;
  const Interval range = range_of(way.step, inverse.variable, way.where);
  const Value low = write_.value_of(range.lower), high = write_.value_of(range.upper);
  conditions.push_back(write_.is_inside(value, low, high));
  return clamped ? write_.clamped(value, low, high) : value;
}

// A read at a number along a dimension, as of one colour of a picture, is a condition on the element: all colours have
// one definition. By dimension.
std::vector<bool> FuncDeriver::constant_indices(const Way &way, const Left &left, std::vector<Value> &conditions) {
  const std::vector<Value> &indices = way.load.value.operands;
  std::vector<bool> constant(indices.size());
  if (!left.ranges.empty()) return constant;
  // All other indices are variables, else the update is of some elements in any case.
  for (std::size_t d = 0; d < indices.size(); ++d) {
    const auto inverse = std::ranges::find(way.inverses, d, &Inverse::dimension);
    const bool solved = inverse != way.inverses.end() &&
                        way.parts[static_cast<std::size_t>(inverse - way.inverses.begin())] == Part::inside;
    if (!solved && !indices[d].is_constant()) return std::vector<bool>(indices.size());
    constant[d] = !solved;
  }
  for (std::size_t d = 0; d < indices.size(); ++d)
    if (constant[d])
      conditions.push_back(write_.build()(Op::Equal, {way.target.variables[d], write_.number(indices[d].as_int())}));
  return constant;
}

// The variables that lead to elements which the forward pipeline does not read, unless they are clamped. If a term
// reads only gradients at a variable, these are zero beyond the computed region, and so is the term.
std::set<LocalId> FuncDeriver::to_clamp(const Way &way, const Term &term, const Computed &computed,
                                        const std::vector<bool> &solved) {
  std::set<LocalId> found;
  bool reads_indices = computed.predicate && reads(*computed.predicate);
  for (std::size_t d = 0; d < solved.size(); ++d) reads_indices |= !solved[d] && reads(term.indices[d]);
  std::set<LocalId> used;
  bool of_number = !reads(term.value);
  std::vector<Value> open{term.value};
  while (!open.empty()) {
    const Value next = open.back();
    open.pop_back();
    if (!next.is_local() || !used.insert(next.id()).second) continue;
    const Operation *made = write_.operation(next);
    if (!made) continue;
    const bool of_gradient = made->op == Op::Load && adjoint_arrays_.contains(made->array);
    if (!of_gradient) open.insert(open.end(), made->operands.begin(), made->operands.end());
    if (of_gradient)
      for (const Value &index : made->operands) of_number |= reads(index);
  }
  for (std::size_t i = 0; i < way.inverses.size(); ++i) {
    if (way.parts[i] != Part::inside) continue;
    const LocalId variable = way.inverses[i].variable;
    const Value &value = computed.variables.at(variable);
    if (!way.clamped.contains(variable) && (reads_indices || of_number || used.contains(value.id())))
      found.insert(variable);
  }
  return found;
}

Value FuncDeriver::all_of(const std::vector<Value> &conditions) {
  Value all = conditions[0];
  for (std::size_t i = 1; i < conditions.size(); ++i) all = write_.both(all, conditions[i]);
  return all;
}

// Whether what keeps the variables in place can be said once for the whole sum.
bool FuncDeriver::can_clamp_outside(const Way &way, const std::set<LocalId> &variables) const {
  return std::ranges::all_of(way.inverses, [&](const Inverse &inverse) {
    if (!variables.contains(inverse.variable)) return true;
    return (inverse.coefficient == 1 || inverse.coefficient == -1) &&
           std::ranges::none_of(way.step.box, [&](const auto &variable) {
             return inverse.rest.contains(Symbol::local(variable.first));
           });
  });
}

// A sum has a Func of its own, which a schedule can keep in registers. Conditions that hold for all of its points or
// for none, and limits of its variables, are outside of it.
FuncDeriver::Term FuncDeriver::plain_term(const Way &way, const Sum &sum, const std::set<LocalId> &to_clamp,
                                          Target &target) {
  passes::Builder &build = write_.build();
  std::string name = target.name + "_over";
  std::set<LocalId> points;  // variables of the Reduction
  for (const LocalId variable : sum.left.variables) name += "_" + name_of(way.step.definition, variable);
  for (const Value &variable : sum.left.now) points.insert(variable.id());
  std::vector<Value> inner, outer;
  for (const Value &condition : sum.conditions) {
    const bool varies = is_made_of(condition, [&](LocalId id, const Operation *) { return points.contains(id); });
    (varies ? inner : outer).push_back(condition);
  }
  const Handle func = write_.declare(name, {target.type}, target.variables, {}, way.where);
  adjoint_arrays_.insert(func.array);
  write_.define(func, func.variables, {Value::zero(target.type)}, way.where);
  Value value = build.cast(target.type, sum.value);
  if (!inner.empty()) value = build.select(all_of(inner), value, Value::zero(target.type));
  write_.define(func, func.variables, {build(Op::Add, {write_.call(func, 0, func.variables), value})}, way.where);

  std::vector<Value> place = target.variables;
  for (const Inverse &inverse : way.inverses) {
    if (!to_clamp.contains(inverse.variable)) continue;
    const Value &element = target.variables[inverse.dimension];
    const Interval range = range_of(way.step, inverse.variable, way.where);
    const bool turned = inverse.coefficient == -1;
    const Affine first = inverse.rest + (turned ? range.upper * -1 : range.lower),
                 last = inverse.rest + (turned ? range.lower * -1 : range.upper);
    const Value low = write_.value_of(first), high = write_.value_of(last);
    outer.push_back(write_.is_inside(element, low, high));
    place[inverse.dimension] = write_.clamped(element, low, high);
  }
  value = write_.call(func, 0, place);
  if (!outer.empty()) value = build.select(all_of(outer), value, Value::zero(target.type));
  return {target.variables, value, Term::Kind::plain, way.where};
}

// The variables that are solved for follow from the indices of the element; the others are those of a Reduction.
void FuncDeriver::add_term(const Way &way, Target &target) {
  passes::Builder &build = write_.build();
  build.at(way.where);
  Variables variables;
  const Left left = left_variables(way, variables);
  std::vector<Value> conditions;
  std::vector<bool> solved_for(target.variables.size());
  for (std::size_t i = 0; i < way.inverses.size(); ++i) {
    if (way.parts[i] != Part::inside) continue;
    solved_for[way.inverses[i].dimension] = true;
    const Value value = solved(way, way.inverses[i], variables, conditions);
    variables.insert_or_assign(way.inverses[i].variable, value);
  }
  reads_copies_ = !left.ranges.empty();
  const Computed computed = compute(way.step.definition, variables, way.step.own, way.step.function);
  reads_copies_ = false;
  build.at(way.where);
  const auto found = pull_back(way.step, computed);
  build.at(way.where);
  const auto gradient = found.find(way.load.local);
  if (gradient == found.end()) return;
  const std::vector<bool> constant = constant_indices(way, left, conditions);
  Term term{{}, gradient->second, Term::Kind::plain, way.where};
  for (std::size_t d = 0; d < target.variables.size(); ++d) {
    const bool own = solved_for[d] || constant[d];
    if (!own) term.kind = Term::Kind::some;
    term.indices.push_back(own ? target.variables[d] : write_.as_index(computed(way.load.value.operands[d])));
  }
  const bool is_sum = term.kind == Term::Kind::plain && !left.ranges.empty();
  const std::set<LocalId> clamped = to_clamp(way, term, computed, solved_for);
  Sum sum{term.value, conditions, left};
  if (!clamped.empty() && !(is_sum && can_clamp_outside(way, clamped))) {
    std::set<LocalId> all = way.clamped;
    all.insert(clamped.begin(), clamped.end());
    return add_term({way.step, way.load, way.target, way.inverses, way.parts, all, way.where}, target);
  }

  if (computed.predicate && left.ranges.empty()) sum.conditions.push_back(*computed.predicate);
  if (computed.predicate && !left.ranges.empty()) write_.restrict(left.reduction, *computed.predicate);
  // A Reduction has the variables that are mentioned: an equal term for each value of this one.
  for (std::size_t r = 0; r < left.variables.size(); ++r) {
    const Value variable = left.now[r];
    const bool mentioned =
        depends_on(term.value, variable.id()) ||
        std::ranges::any_of(term.indices, [&](const Value &index) { return depends_on(index, variable.id()); });
    if (!mentioned) sum.conditions.push_back(build(Op::GreaterEqual, {variable, left.ranges[r].begin}));
  }
  if (is_sum) {
    target.terms.push_back(plain_term(way, sum, clamped, target));
    return;
  }
  if (!sum.conditions.empty())
    term.value = build.select(all_of(sum.conditions), term.value, Value::zero(term.value.type()));
  term.value = build.cast(target.type, term.value);
  target.terms.push_back(std::move(term));
}

// Whether the value contains such a local or operation.
bool FuncDeriver::is_made_of(const Value &value, const std::function<bool(LocalId, const Operation *)> &what) {
  std::set<LocalId> seen;
  std::vector<Value> open{value};
  while (!open.empty()) {
    const Value next = open.back();
    open.pop_back();
    if (!next.is_local() || !seen.insert(next.id()).second) continue;
    const Operation *operation = write_.operation(next);
    if (what(next.id(), operation)) return true;
    if (operation) open.insert(open.end(), operation->operands.begin(), operation->operands.end());
  }
  return false;
}

bool FuncDeriver::reads(const Value &value) {
  return is_made_of(value, [](LocalId, const Operation *made) { return made && made->op == Op::Load; });
}

bool FuncDeriver::depends_on(const Value &value, LocalId local) {
  return is_made_of(value, [&](LocalId id, const Operation *) { return id == local; });
}

std::vector<Value> FuncDeriver::variables_of_array(std::uint32_t array) {
  static const char *const names[] = {"w", "z", "y", "x"};
  std::vector<Value> variables;
  const auto rank = static_cast<std::size_t>(algorithm_.parameters[array].rank);
  for (std::size_t d = 4 - rank; d < 4; ++d) variables.push_back(write_.variable(names[d], algorithm_.where));
  return variables;
}

// Plain terms are the first definition, the others its updates. A gradient that is an array's is added to it.
FuncDeriver::Handle FuncDeriver::make_gradient(const std::string &name, const Target &target,
                                               std::optional<std::uint32_t> output, SourceLocation where) {
  passes::Builder &build = write_.build();
  Handle handle = write_.declare(name, {target.type}, target.variables, output, where);
  adjoint_arrays_.insert(handle.array);
  std::optional<Value> sum;
  SourceLocation where_of_sum = where;
  for (const Term &term : target.terms) {
    if (term.kind != Term::Kind::plain) continue;
    if (!sum) where_of_sum = term.where;
    build.at(term.where);
    sum = sum ? build(Op::Add, {*sum, term.value}) : term.value;
  }
  const auto add = [&](const std::vector<Value> &indices, const Value &value, SourceLocation at) {
    build.at(at);
    write_.define(handle, indices, {build(Op::Add, {write_.call(handle, 0, indices), value})}, at);
  };
  build.at(where);
  if (output) {
    write_.define(handle, target.variables, {build.operation({Op::Unavailable, target.type, {}})}, where);
    if (sum) add(target.variables, *sum, where_of_sum);
  } else {
    write_.define(handle, target.variables, {sum.value_or(Value::zero(target.type))}, where_of_sum);
  }
  for (const Term &term : target.terms)
    if (term.kind != Term::Kind::plain) add(term.indices, term.value, term.where);
  return handle;
}

}  // namespace samite::autodiff
