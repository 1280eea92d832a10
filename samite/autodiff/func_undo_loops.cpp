// Updates whose iterations read elements that others store: their gradients run through the same iterations backwards.
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
using schedules::Forms;
using schedules::Function;

namespace {

// How many iterations ago what is read was stored, by the order of the Reduction's variables; nothing if these are no
// numbers, or other dimensions differ.
std::optional<std::vector<std::int64_t>> distances(const Definition &definition, const Forms &forms,
                                                   const std::vector<std::optional<Inverse>> &stored,
                                                   const Operation &load) {
  std::vector<std::int64_t> found(definition.reductions.size());
  for (std::size_t d = 0; d < load.operands.size(); ++d) {
    const Affine distance = forms.form(definition.indices[d]) - forms.form(load.operands[d]);
    if (!distance.is_constant()) return std::nullopt;
    if (!stored[d]) {
      if (distance.constant() != 0) return std::nullopt;
      continue;
    }
    for (std::size_t r = 0; r < found.size(); ++r)
      if (definition.reductions[r].variable.local == stored[d]->variable)
        found[r] = distance.constant() * stored[d]->coefficient;
  }
  return found;
}

bool is_before(const std::vector<std::int64_t> &distance) {
  const auto first = std::ranges::find_if(distance, [](std::int64_t d) { return d != 0; });
  return first != distance.end() && *first > 0;
}

}  // namespace

// Whether each iteration stores an element of its own, and reads of the Func only that element and those of earlier
// iterations.
bool FuncDeriver::is_scan(const Step &step, const std::vector<std::optional<Inverse>> &stored) const {
  const Forms forms(step.definition.body, algorithm_.promises);
  for (std::size_t d = 0; d < stored.size(); ++d) {
    if (step.definition.pure[d]) continue;
    // Nothing else in the index changes between iterations, or depends on a variable.
    const Affine form = stored[d] ? stored[d]->rest : forms.form(step.definition.indices[d]);
    if (!form.known()) return false;
    if (stored[d] && stored[d]->coefficient != 1 && stored[d]->coefficient != -1) return false;
    for (const auto &[variable, range] : step.box)
      if (form.contains(Symbol::local(variable))) return false;
  }
  return std::ranges::all_of(step.definition.body, [&](const Stmt &stmt) {
    const Operation &operation = stmt.as<Let>()->value;
    if (!is_own(step.function, operation)) return true;
    const auto distance = distances(step.definition, forms, stored, operation);
    return distance && (is_before(*distance) || std::ranges::all_of(*distance, [](auto d) { return d == 0; }));
  });
}

// A Func of the gradients of all values, and one handle for each.
FuncDeriver::Backwards FuncDeriver::declare_backwards(std::uint32_t f, const std::string &name,
                                                      std::vector<Value> variables, SourceLocation where) {
  const Function &of = function(f);
  Backwards backwards;
  std::vector<ScalarType> types;
  for (std::size_t v = 0; v < of.types.size(); ++v) {
    backwards.place.emplace_back();
    if (!is_varied(of.array + static_cast<std::uint32_t>(v))) continue;
    backwards.place.back() = types.size();
    types.push_back(gradient_type(of.types[v]).element());
  }
  backwards.all = write_.declare(name, types, std::move(variables), {}, where);
  for (std::size_t v = 0; v < of.types.size(); ++v) {
    backwards.state.emplace_back();
    if (!backwards.place[v]) continue;
    const auto array = backwards.all.array + static_cast<std::uint32_t>(*backwards.place[v]);
    adjoint_arrays_.insert(array);
    backwards.state.back() = Handle{array, {types[*backwards.place[v]]}, backwards.all.variables};
  }
  return backwards;
}

FuncDeriver::ScanElement FuncDeriver::scan_element(const Step &step, const std::vector<std::optional<Inverse>> &stored,
                                                   const std::vector<ScanRead> &reads,
                                                   const std::vector<Value> &place) {
  passes::Builder &build = write_.build();
  const Definition &definition = step.definition;
  const Forms forms(definition.body, algorithm_.promises);
  ScanElement element;
  std::vector<PipelineWriter::Range> ranges;
  std::vector<Value> last;
  for (std::size_t r = 0; r < definition.reductions.size(); ++r) {
    const LocalId variable = definition.reductions[r].variable.local;
    std::int64_t nearest = reads[0].distance[r], farthest = nearest;
    for (const ScanRead &read : reads) {
      nearest = std::min(nearest, read.distance[r]);
      farthest = std::max(farthest, read.distance[r]);
    }
    const Interval range = range_of(step, variable, definition.where);
    last.push_back(write_.value_of(range.upper - nearest));
    ranges.push_back({definition.reductions[r].variable.name + "_back", write_.number(0),
                      write_.value_of(range.upper - range.lower + (farthest - nearest + 1))});
  }
  const std::vector<Value> back = write_.reduction(ranges, definition.where);
  element.indices = place;
  for (std::size_t d = 0; d < place.size(); ++d)
    if (!definition.pure[d] && !stored[d]) element.indices[d] = write_.value_of(forms.form(definition.indices[d]));
  for (std::size_t r = 0; r < back.size(); ++r) {
    const Value iteration = build(Op::Sub, {last[r], back[r]});
    element.iteration.push_back(iteration);
    for (std::size_t d = 0; d < place.size(); ++d)
      if (stored[d] && stored[d]->variable == definition.reductions[r].variable.local)
        element.indices[d] = write_.value_of(write_.name(iteration) * stored[d]->coefficient + stored[d]->rest);
  }
  return element;
}

// The gradient of the iteration that reads the element, if there is one.
void FuncDeriver::add_scan_read(const Step &step, const ScanRead &read, const ScanElement &element,
                                const std::vector<Value> &place, Value &sum) {
  passes::Builder &build = write_.build();
  const Definition &definition = step.definition;
  Variables variables = variables_in_place(definition, place);
  std::optional<Value> inside;
  for (std::size_t r = 0; r < element.iteration.size(); ++r) {
    const LocalId variable = definition.reductions[r].variable.local;
    const Value value = write_.value_of(write_.name(element.iteration[r]) + read.distance[r]);
    const Interval range = range_of(step, variable, definition.where);
    const Value low = write_.value_of(range.lower), high = write_.value_of(range.upper);
    const Value here = write_.is_inside(value, low, high);
    inside = inside ? write_.both(*inside, here) : here;
    variables.insert_or_assign(variable, write_.clamped(value, low, high));
  }
  const Computed computed = compute(definition, std::move(variables), step.own, step.function);
  if (computed.predicate) inside = write_.both(*inside, *computed.predicate);
  const auto found = pull_back(step, computed);
  const auto gradient = found.find(read.let->local);
  if (gradient == found.end()) return;
  build.at(read.where);
  const Value zero = Value::zero(sum.type());
  sum = build(Op::Add, {sum, build.select(*inside, build.cast(sum.type(), gradient->second), zero)});
}

// Elements are updated, the last one first: each gets the gradients of the iterations that read it, which are complete
// by then.
FuncDeriver::State FuncDeriver::undo_scan(std::uint32_t f, std::size_t n, const State &after,
                                          const std::vector<std::optional<Inverse>> &stored) {
  const Function &of = function(f);
  const Definition &definition = of.definitions[n];
  const Forms forms(definition.body, algorithm_.promises);
  // An element is stored once: an iteration reads earlier iterations' elements as the update leaves them.
  const OwnValue own = [&](const Computed &, const Operation &load, const std::vector<Value> &indices) {
    const bool is_earlier = is_before(*distances(definition, forms, stored, load));
    return write_.call(forward(f, is_earlier ? n + 1 : n), number_in(f, load), indices);
  };
  write_.build().at(definition.where);
  const Backwards backwards =
      declare_backwards(f, of.name + "_gradient_backwards", variables_of_func(f), definition.where);
  const std::vector<Value> &place = backwards.all.variables;
  std::vector<Value> first;
  for (std::size_t v = 0; v < after.size(); ++v)
    if (backwards.place[v])
      first.push_back(after[v] ? write_.call(*after[v], 0, place)
                               : Value::zero(backwards.all.types[*backwards.place[v]]));
  write_.define(backwards.all, place, first, definition.where);

  const Step step = step_of(f, n, backwards.state, own);
  std::vector<ScanRead> reads;
  for (const Stmt &stmt : definition.body) {
    const Let &let = *stmt.as<Let>();
    if (!is_own(f, let.value) || !step.varied.contains(let.local)) continue;
    grow_region(step, let);
    if (const auto distance = *distances(definition, forms, stored, let.value); is_before(distance))
      reads.push_back({&let, distance, stmt.where()});
  }
  if (!reads.empty()) {
    const ScanElement element = scan_element(step, stored, reads, place);
    std::vector<Value> sums;
    for (std::size_t i = 0; i < backwards.all.types.size(); ++i)
      sums.push_back(write_.call(backwards.all, i, element.indices));
    for (const ScanRead &read : reads)
      add_scan_read(step, read, element, place, sums[*backwards.place[number_in(f, read.let->value)]]);
    write_.define(backwards.all, element.indices, sums, definition.where);
  }

  std::vector<Target> targets = untouched(step, backwards.state, true);
  distribute(step, [&](const Operation &load) -> Target * {
    if (!is_own(f, load)) return &target_of_array(load.array);
    const auto distance = *distances(definition, forms, stored, load);
    return is_before(distance) ? nullptr : &targets[number_in(f, load)];
  });
  return made(step, std::move(targets));
}

// Whether all iterations read and store the same elements.
bool FuncDeriver::is_in_place(const Step &step) const {
  const Definition &definition = step.definition;
  const Forms forms(definition.body, algorithm_.promises);
  for (const Value &index : definition.indices) {
    const Affine form = forms.form(index);
    if (!form.known()) return false;
    for (const schedules::ReductionVariable &reduction : definition.reductions)
      if (form.contains(Symbol::local(reduction.variable.local))) return false;
  }
  return std::ranges::all_of(definition.body, [&](const Stmt &stmt) {
    const Operation &operation = stmt.as<Let>()->value;
    if (!is_own(step.function, operation)) return true;
    for (std::size_t d = 0; d < operation.operands.size(); ++d)
      if (!(forms.form(operation.operands[d]) == forms.form(definition.indices[d]))) return false;
    return true;
  });
}

FuncDeriver::Iterations FuncDeriver::iterations_of(std::uint32_t f, const Definition &definition) {
  Iterations of{definition, ranges_of(definition), write_.number(1), variables_of_func(f), {}, {}};
  for (const PipelineWriter::Range &range : of.ranges) of.count = write_.build()(Op::Mul, {of.count, range.extent});
  of.variables.push_back(write_.variable("step", definition.where));
  for (std::size_t d = 0; d < definition.pure.size(); ++d)
    if (definition.pure[d]) {
      of.variables.push_back(of.own_variables[d]);
      of.dimensions.push_back(d);
    }
  if (of.variables.size() > static_cast<std::size_t>(maximum_func_rank))
    throw UserError(definition.where,
                    fmt::format("the gradient of '{}' keeps its values between the iterations of this update, in more "
                                "than {} dimensions",
                                function(f).name, maximum_func_rank));
  return of;
}

std::vector<Value> FuncDeriver::kept_at(const Iterations &of, const Value &number, const std::vector<Value> &indices) {
  std::vector<Value> place{number};
  for (const std::size_t d : of.dimensions) place.push_back(indices[d]);
  return place;
}

FuncDeriver::Variables FuncDeriver::iteration(const Iterations &of, const Value &number) {
  passes::Builder &build = write_.build();
  Variables found = variables_in_place(of.definition, of.own_variables);
  Value left = number;
  for (std::size_t r = of.ranges.size(); r-- > 0;) {
    const Value extent = of.ranges[r].extent;
    Value offset = left;
    if (r != 0) {
      offset = build(Op::Rem, {left, extent});
      left = build(Op::Div, {left, extent});
    }
    if (of.ranges.size() > 1)
      offset = write_.clamped(offset, write_.number(0), build(Op::Sub, {extent, write_.number(1)}));
    found.insert_or_assign(of.definition.reductions[r].variable.local, build(Op::Add, {of.ranges[r].begin, offset}));
  }
  return found;
}

Value FuncDeriver::number_of(const Iterations &of, const Computed &computed) {
  passes::Builder &build = write_.build();
  Value number = write_.number(0);
  for (std::size_t r = 0; r < of.ranges.size(); ++r) {
    const Value variable = computed.variables.at(of.definition.reductions[r].variable.local);
    const Value offset = build(Op::Sub, {variable, of.ranges[r].begin});
    number = r == 0 ? offset : build(Op::Add, {build(Op::Mul, {number, of.ranges[r].extent}), offset});
  }
  if (of.ranges.size() == 1) return number;
  return write_.clamped(number, write_.number(0), build(Op::Sub, {of.count, write_.number(1)}));
}

// The values before iteration `step`, at the first index `step`.
FuncDeriver::Handle FuncDeriver::keep_values(std::uint32_t f, std::size_t n, const Iterations &of,
                                             const Computed &places) {
  const Function &func = function(f);
  const SourceLocation where = of.definition.where;
  const Handle kept = write_.declare(func.name + "_history", func.types, of.variables, {}, where);
  std::vector<Value> first;
  for (std::size_t v = 0; v < func.types.size(); ++v) first.push_back(write_.call(forward(f, n), v, places.indices));
  write_.define(kept, of.variables, first, where);
  const Value number = write_.reduction({{"step", write_.number(0), of.count}}, where)[0];
  const OwnValue own = [&](const Computed &, const Operation &load, const std::vector<Value> &indices) {
    return write_.call(kept, number_in(f, load), kept_at(of, number, indices));
  };
  const Computed computed = compute(of.definition, iteration(of, number), own, f);
  std::vector<Value> values = computed.results;
  for (std::size_t v = 0; computed.predicate && v < values.size(); ++v)
    values[v] = write_.build().select(*computed.predicate, values[v],
                                      write_.call(kept, v, kept_at(of, number, computed.indices)));
  write_.define(kept, kept_at(of, next(number), computed.indices), values, where);
  return kept;
}

FuncDeriver::Cotangents FuncDeriver::cotangents_at(const Iterations &of, const Backwards &backwards,
                                                   const Value &number, const Computed &computed) {
  Cotangents all;
  for (const auto &place : backwards.place)
    all.push_back(place ? std::optional(write_.call(backwards.all, *place, kept_at(of, number, computed.indices)))
                        : std::nullopt);
  return all;
}

FuncDeriver::Backwards FuncDeriver::run_backwards(std::uint32_t f, std::size_t n, const State &after,
                                                  const Iterations &of, const Handle &kept, const Computed &places) {
  passes::Builder &build = write_.build();
  const SourceLocation where = of.definition.where;
  Backwards backwards = declare_backwards(f, function(f).name + "_gradient_backwards", of.variables, where);
  std::vector<Value> first;
  for (std::size_t v = 0; v < after.size(); ++v)
    if (backwards.place[v])
      first.push_back(after[v] ? write_.call(*after[v], 0, places.indices)
                               : Value::zero(backwards.all.types[*backwards.place[v]]));
  write_.define(backwards.all, of.variables, first, where);

  const Value back = write_.reduction({{"step_back", write_.number(0), of.count}}, where)[0];
  const Value number = build(Op::Sub, {build(Op::Sub, {of.count, write_.number(1)}), back});
  Step step = step_of(f, n, {}, [&](const Computed &, const Operation &load, const std::vector<Value> &indices) {
    return write_.call(kept, number_in(f, load), kept_at(of, number, indices));
  });
  step.cotangents = [&](const Computed &computed) { return cotangents_at(of, backwards, next(number), computed); };
  const Computed computed = compute(of.definition, iteration(of, number), step.own, f);
  const auto found = pull_back(step, computed);
  std::vector<Value> sums;
  for (const ScalarType type : backwards.all.types) sums.push_back(Value::zero(type));
  for (const Stmt &stmt : of.definition.body) {
    const Let &let = *stmt.as<Let>();
    const auto gradient = found.find(let.local);
    if (gradient == found.end() || !is_own(f, let.value)) continue;
    build.at(stmt.where());
    Value &sum = sums[*backwards.place[number_in(f, let.value)]];
    const Value amount = build.cast(sum.type(), gradient->second);
    sum = sum.is_constant() ? amount : build(Op::Add, {sum, amount});
  }
  build.at(where);
  for (std::size_t i = 0; computed.predicate && i < sums.size(); ++i)
    sums[i] = build.select(*computed.predicate, sums[i],
                           write_.call(backwards.all, i, kept_at(of, next(number), computed.indices)));
  write_.define(backwards.all, kept_at(of, number, computed.indices), sums, where);
  return backwards;
}

FuncDeriver::State FuncDeriver::undo_in_place(std::uint32_t f, std::size_t n, const State &after) {
  passes::Builder &build = write_.build();
  const Definition &definition = function(f).definitions[n];
  const SourceLocation where = definition.where;
  build.at(where);
  const Iterations of = iterations_of(f, definition);
  const OwnValue from_before = [&](const Computed &, const Operation &load, const std::vector<Value> &indices) {
    return write_.call(forward(f, n), number_in(f, load), indices);
  };
  Variables anywhere = variables_in_place(definition, of.own_variables);
  for (std::size_t r = 0; r < of.ranges.size(); ++r)
    anywhere.insert_or_assign(definition.reductions[r].variable.local, of.ranges[r].begin);
  const Computed places = compute(definition, anywhere, from_before, f);
  const Handle kept = keep_values(f, n, of, places);
  const Backwards backwards = run_backwards(f, n, after, of, kept, places);

  Step step =
      step_of(f, n, after, [&](const Computed &computed, const Operation &load, const std::vector<Value> &indices) {
        return write_.call(kept, number_in(f, load), kept_at(of, number_of(of, computed), indices));
      });
  step.cotangents = [&](const Computed &computed) {
    return cotangents_at(of, backwards, next(number_of(of, computed)), computed);
  };
  distribute(step, [&](const Operation &load) { return is_own(f, load) ? nullptr : &target_of_array(load.array); });
  step.own = from_before;
  std::vector<Target> targets = untouched(step, after, false);
  for (std::size_t v = 0; v < targets.size(); ++v) {
    if (!backwards.place[v]) continue;
    Target &target = targets[v];
    Value value = write_.call(backwards.all, *backwards.place[v], kept_at(of, write_.number(0), target.variables));
    if (const auto stored = is_stored(step, target.variables, false))
      value = build.select(*stored, value, Value::zero(value.type()));
    target.terms.push_back({target.variables, value, Term::Kind::plain, where});
  }
  return made(step, std::move(targets));
}

}  // namespace samite::autodiff
