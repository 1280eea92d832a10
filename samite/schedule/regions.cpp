#include "samite/schedule/regions.h"

#include "samite/base/error.h"
#include "samite/schedule/algorithm_text.h"
#include "samite/schedule/lowering.h"

#include <fmt/core.h>

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <numeric>
#include <optional>
#include <ranges>

namespace samite::schedules {

using namespace ir;
using passes::Affine;
using passes::Interval;
using passes::Symbol;

namespace {

Derive derive_in(const Lowering &lowering) {
  return [&lowering](const Derived &what) { return lowering.integers.derived_once(what); };
}

void add_reductions(const Lowering &lowering, const Definition &definition, Environment &environment) {
  for (const ReductionVariable &reduction : definition.reductions) {
    const Extent &range = lowering.ranges.reductions.extents.at(reduction.variable.local);
    environment.insert_or_assign(reduction.variable.local, Interval{range.begin, range.begin + range.extent - 1});
  }
  for (const JoinedVariable &joined : definition.joined) {
    const Extent &range = lowering.ranges.reductions.extents.at(joined.variable.local);
    environment.insert_or_assign(joined.variable.local, Interval{range.begin, range.begin + range.extent - 1});
  }
}

// The schedule's bounds. If it rounds the extent up, the region may begin anywhere: the result has as many elements as
// the largest multiple (floored).
Box as_computed(const Lowering &lowering, std::uint32_t f, Box box) {
  const FunctionSchedule &schedule = lowering.schedules[f];
  for (const auto &[d, bounds] : schedule.bounds)
    box[static_cast<std::size_t>(d)] = {bounds.first, bounds.first + bounds.second - 1};
  for (const auto &[d, modulus] : schedule.alignments) {
    Interval &of_dimension = box[static_cast<std::size_t>(d)];
    of_dimension.lower = quotient(of_dimension.lower, modulus) * modulus;
    of_dimension.upper = quotient(of_dimension.upper, modulus) * modulus + (modulus - 1);
  }
  if (!lowering.function(f).output)
    for (std::size_t d = 0; d < box.size(); ++d) box[d].upper = box[d].upper + (rounded(lowering, f, d) - 1);
  return box;
}

std::string shortened(std::string text) {
  constexpr std::size_t most = 80;
  if (text.size() <= most) return text;
  while (text.size() > most || (static_cast<unsigned char>(text.back()) & 0xC0) == 0x80) text.pop_back();
  return text + " …";
}

// For a message, in case the bounds are needed.
void note_unknown(const Lowering &lowering, std::uint32_t f, std::size_t d, const Interval &interval,
                  const Definition &definition, const Value &index, SourceLocation where) {
  if (interval.lower.known() && interval.upper.known()) return;
  auto &unknown = lowering.last_call[f].unknown;
  if (!unknown.contains(d))
    unknown.emplace(d, Lowering::Call::Index{shortened(text_of(lowering.algorithm, definition, index)), where});
}

void grow(const Lowering &lowering, std::uint32_t f, Box &box) {
  const Function &of = lowering.function(f);
  for (std::size_t n = 1; n < of.definitions.size(); ++n) {
    const Definition &definition = of.definitions[n];
    const Forms forms(definition.body, lowering.algorithm.promises);
    // The stored elements, and those that it reads of itself: nothing beyond the stored or required ones.
    const Box all = as_computed(lowering, f, box);
    Box read = all;
    for (std::size_t d = 0; d < box.size(); ++d)
      if (loads_only_asked(lowering, f, d)) read[d] = loaded_box(lowering, f, n, all)[d];
    const Environment environment = environment_of(lowering, definition, all);
    std::optional<Box> touched = box;
    Box written;
    for (std::size_t d = 0; d < box.size(); ++d) {
      written.push_back(definition.pure[d] ? box[d]
                                           : forms.interval(definition.indices[d], environment,
                                                            lowering.symbols.range(), derive_in(lowering)));
      if (!definition.pure[d])
        note_unknown(lowering, f, d, written[d], definition, definition.indices[d], definition.where);
    }
    unite(touched, written);
    Boxes own;
    add_calls(lowering, definition, forms, environment_of(lowering, definition, read), own);
    if (own.contains(f)) {
      for (std::size_t d = 0; d < box.size(); ++d)
        if (definition.pure[d]) (*own.at(f))[d] = box[d];  // it reads the element at the same index there
      unite(touched, *own.at(f));
    }
    box = *touched;
  }
}

// Adds the elements that a function's own updates access, and the schedule's bounds.
void complete(const Lowering &lowering, std::uint32_t f, Box &box) {
  // An update's region may depend on another one's.
  constexpr int most_rounds = 8;
  for (int round = 0; round < most_rounds; ++round) {
    const Box before = box;
    grow(lowering, f, box);
    if (box == before) {
      box = as_computed(lowering, f, box);
      return;
    }
  }
  throw UserError(lowering.function(f).where,
                  fmt::format("each update of '{}' touches elements that others of them reach, further "
                              "and further; write them as Funcs of their own",
                              lowering.function(f).name));
}

// If it is not evident which bound is tighter, it is that of the whole.
Interval part_of(const Interval &whole, const Interval &part) {
  const auto nearer = [](const Affine &of_whole, const Affine &of_part, Affine (*of)(const Affine &, const Affine &)) {
    if (!of_whole.known()) return of_part;
    const Affine both = of_part.known() ? of(of_whole, of_part) : Affine::unknown();
    return both.known() ? both : of_whole;
  };
  return {nearer(whole.lower, part.lower, passes::greatest), nearer(whole.upper, part.upper, passes::least)};
}

// The distance of the bounds stays known if it is a short form.
void name_long(Lowering &lowering, Interval &dimension) {
  constexpr std::size_t most = 12, short_form = 4;
  auto &[lower, upper] = dimension;
  if (!lower.known() || !upper.known() || lower.nodes() + upper.nodes() <= most) return;
  const Affine distance = upper - lower;
  lower = lowering.integers.bound(lower);
  upper = distance.known() && distance.nodes() <= short_form ? lower + distance : lowering.integers.bound(upper);
}

// The extent of a reduction that is computed, by rfactor or by the user, may exceed 32 bits.
void require_countable(Lowering &lowering, const Function &function, const Affine &extent, SourceLocation where) {
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  const bool is_given = extent.is_constant() || (extent.terms().size() == 1 && extent.constant() <= 0 &&
                                                 extent.terms()[0].coefficient == 1 && !extent.terms()[0].operands);
  if (is_given || at_most(extent, lowering.symbols.range()).value_or(most + 1) <= most) return;
  lowering.write.where = where;
  const Value count = lowering.integers.wide_value_of(extent);
  const Value fits = lowering.write(Op::LessEqual, count, Value::constant(ScalarType::Int64, most));
  Message message;
  message.texts = {fmt::format("an update of '{}' goes through a Reduction of ", function.name),
                   " elements, more than the 2147483647 that a loop counts; split it into several"};
  message.values = {count};
  lowering.host.add({Requirement{fits, std::move(message), where}});
}

// Integers that are known before anything is computed.
class IntegersAtLaunch {
 public:
  // `what`: their name in a message.
  IntegersAtLaunch(Lowering &lowering, const Block &made_by, std::string what)
      : lowering_(lowering), made_by_(made_by), forms_(made_by), what_(std::move(what)) {}

  Affine operator()(const Value &value) {
    if (const Affine form = forms_.form(value); form.known() && form.nodes() < Affine::most_nodes / 2) return form;
    for (const Stmt &stmt : made_by_) {
      const Let *let = stmt.as<Let>();
      if (made_.contains(let->local)) continue;
      Operation copy = let->value;
      if (copy.op == Op::Load)
        throw UserError(stmt.where(), what_ + " is loaded from an array; give it as an argument of the pipeline");
      for (Value &operand : copy.operands) operand = renamed(operand);
      lowering_.write.where = stmt.where();
      made_.insert_or_assign(let->local, lowering_.write.operation(std::move(copy)));
    }
    const Symbol symbol = lowering_.integers.new_symbol();
    lowering_.integers.set(symbol, lowering_.write.as_i32(renamed(value)));
    return symbol;
  }

 private:
  Value renamed(const Value &value) const {
    const auto found = value.is_local() ? made_.find(value.id()) : made_.end();
    return found == made_.end() ? value : found->second;
  }

  Lowering &lowering_;
  const Block &made_by_;
  const Forms forms_;
  const std::string what_;
  std::map<LocalId, Value> made_;
};

}  // namespace

Reductions find_reductions(Lowering &lowering) {
  Reductions found;
  for (const Function &function : lowering.algorithm.functions)
    for (const Definition &definition : function.definitions) {
      IntegersAtLaunch integer(lowering, definition.bounds,
                               fmt::format("the range of a Reduction in '{}'", function.name));
      for (const ReductionVariable &reduction : definition.reductions) {
        const Extent range{integer(reduction.begin), integer(reduction.extent)};
        require_countable(lowering, function, range.extent, definition.where);
        found.extents.insert_or_assign(reduction.variable.local, range);
      }
      for (const JoinedVariable &joined : definition.joined)
        found.extents.insert_or_assign(joined.variable.local, Extent{integer(joined.begin), integer(joined.extent)});
      for (const Guard &guard : definition.guards) found.guards.insert_or_assign(&guard, integer(guard.extent));
    }
  return found;
}

Origins find_origins(Lowering &lowering) {
  Origins found;
  for (const auto &[array, origin] : lowering.algorithm.origins) {
    const std::string &name = lowering.algorithm.parameters[array].name;
    IntegersAtLaunch integer(lowering, origin.body, fmt::format("the place where '{}' begins", name));
    for (const Value &index : origin.indices) found[array].push_back(integer(index));
  }
  return found;
}

void unite(std::optional<Box> &box, const Box &with, Integers *names) {
  if (!box) {
    box = with;
    return;
  }
  const auto either = [&](const Affine &a, const Affine &b, Affine (*of)(const Affine &, const Affine &)) {
    if (!a.known() || !b.known()) return Affine::unknown();
    const Affine both = of(a, b);
    return both.known() || !names ? both : of(names->bound(a), names->bound(b));
  };
  for (std::size_t d = 0; d < with.size(); ++d) {
    Interval &of = (*box)[d];
    of.lower = either(of.lower, with[d].lower, passes::least);
    of.upper = either(of.upper, with[d].upper, passes::greatest);
  }
}

void add_calls(const Lowering &lowering, const Definition &definition, const Forms &forms,
               const Environment &environment, Boxes &boxes, Integers *names, const Boxes *whole) {
  for (const Stmt &stmt : definition.body) {
    const Let *let = stmt.as<Let>();
    if (let->value.op != Op::Load) continue;
    const auto called = lowering.algorithm.function_of(let->value.array);
    if (!called) continue;
    const auto all = whole ? whole->find(called->function) : Boxes::const_iterator();
    Box box;
    Lowering::Call &last = lowering.last_call[called->function];
    last.where = stmt.where();
    for (const Value &index : let->value.operands) {
      Interval interval = forms.interval(index, environment, lowering.symbols.range(), derive_in(lowering));
      if (whole && all != whole->end() && forms.has_remainder(index))
        interval = part_of((*all->second)[box.size()], interval);
      note_unknown(lowering, called->function, box.size(), interval, definition, index, stmt.where());
      box.push_back(std::move(interval));
    }
    unite(boxes[called->function], box, names);
  }
}

Environment environment_of(const Lowering &lowering, const Definition &definition, const Box &box) {
  Environment environment;
  for (std::size_t d = 0; d < box.size(); ++d)
    if (definition.pure[d]) environment.insert_or_assign(definition.pure[d]->local, box[d]);
  add_reductions(lowering, definition, environment);
  return environment;
}

void follow(const Lowering &lowering, Boxes &boxes, const Trim &trim) {
  for (const std::uint32_t f : std::views::reverse(lowering.algorithm.order)) {
    const auto found = boxes.find(f);
    if (found == boxes.end() || has_values(lowering, f)) continue;
    complete(lowering, f, *found->second);
    const Box all = *found->second;
    Box computed = all;
    if (trim) trim(f, computed);
    for (std::size_t n = 0; n < lowering.function(f).definitions.size(); ++n) {
      const Definition &definition = lowering.function(f).definitions[n];
      add_calls(lowering, definition, Forms(definition.body, lowering.algorithm.promises),
                environment_of(lowering, definition, loaded_box(lowering, f, n, computed)), boxes, nullptr,
                &lowering.ranges.called);
    }
    *found->second = all;  // includes the elements that its updates read of itself
  }
}

void follow_from_outputs(Lowering &lowering, Boxes &boxes) {
  for (const std::uint32_t f : std::views::reverse(lowering.algorithm.order)) {
    const auto found = boxes.find(f);
    if (found == boxes.end()) continue;
    lowering.ranges.called.insert(*found);
    complete(lowering, f, *found->second);
    if (!lowering.function(f).output)
      for (Interval &dimension : *found->second) name_long(lowering, dimension);
    Box all = *found->second;
    for (std::size_t n = 0; n < lowering.function(f).definitions.size(); ++n) {
      const Definition &definition = lowering.function(f).definitions[n];
      add_calls(lowering, definition, Forms(definition.body, lowering.algorithm.promises),
                environment_of(lowering, definition, loaded_box(lowering, f, n, all)), boxes, &lowering.integers);
    }
    *found->second = std::move(all);
  }
}

Region floored(const Lowering &lowering, std::uint32_t f, Region region) {
  if (!lowering.function(f).output)
    for (std::size_t d = 0; d < region.size(); ++d)
      if (const std::int64_t modulus = rounded(lowering, f, d); modulus != 1) {
        if (loads_only_asked(lowering, f, d)) region[d].asked = region[d].extent - (modulus - 1);
        region[d].extent = quotient(region[d].extent, modulus) * modulus;
      }
  return region;
}

namespace {

// `tails`: those that make the loops of these schedules longer than required.
void check_multiple(const Lowering &lowering, std::uint32_t f, std::size_t d, const DefinitionSchedule &schedule,
                    std::int64_t multiple, std::initializer_list<ir::Tail> tails) {
  if (multiple <= std::numeric_limits<std::int32_t>::max()) return;
  const Function &of = lowering.function(f);
  SourceLocation where = of.where;
  for (const Relation &relation : schedule.relations)
    if (std::ranges::count(tails, relation.tail) != 0) where = relation.where;
  throw UserError(where, fmt::format("the splits of '{0}' round '{1}' up to a multiple beyond 2147483647, and no "
                                     "dimension has so many elements; split by less, or use Tail::guard",
                                     of.name, of.definitions[0].pure[d]->name));
}

}  // namespace

std::int64_t rounded(const Lowering &lowering, std::uint32_t f, std::size_t d) {
  std::int64_t modulus = 1;
  const auto round = [&](const DefinitionSchedule &schedule) {
    modulus = std::lcm(modulus, rounded_to(schedule, schedule.roots[d]));
    check_multiple(lowering, f, d, schedule, modulus, {ir::Tail::round_up, ir::Tail::predicate_loads});
  };
  for (std::size_t n = 0; n < lowering.function(f).definitions.size(); ++n) {
    if (!lowering.function(f).definitions[n].pure[d]) continue;
    const DefinitionSchedule &schedule = lowering.schedules[f].definitions[n];
    round(schedule);
    for (const DefinitionSchedule &special : schedule.specializations) round(special);
  }
  return modulus;
}

bool loads_only_asked(const Lowering &lowering, std::uint32_t f, std::size_t d) {
  const Function &of = lowering.function(f);
  if (of.output) return false;  // its extent is a multiple
  for (std::size_t n = 0; n < of.definitions.size(); ++n) {
    const DefinitionSchedule &schedule = lowering.schedules[f].definitions[n];
    const auto predicates = [&](const DefinitionSchedule &one) {
      return has_tail(one, one.roots[d], ir::Tail::predicate_loads);
    };
    if (of.definitions[n].pure[d] &&
        (predicates(schedule) || std::ranges::any_of(schedule.specializations, predicates)))
      return true;
  }
  return false;
}

std::int64_t loaded_multiple(const Lowering &lowering, std::uint32_t f, std::size_t n, std::size_t d) {
  if (!lowering.function(f).definitions[n].pure[d]) return 1;
  const DefinitionSchedule &schedule = lowering.schedules[f].definitions[n];
  std::int64_t multiple = 1;
  const auto compute = [&](const DefinitionSchedule &one) {
    multiple = std::lcm(multiple, computed_to(one, one.roots[d]));
    check_multiple(lowering, f, d, one, multiple, {ir::Tail::predicate_stores});
  };
  compute(schedule);
  for (const DefinitionSchedule &special : schedule.specializations) compute(special);
  return multiple;
}

bool loads_for_all(const Lowering &lowering, std::uint32_t f) {
  const Function &of = lowering.function(f);
  for (std::size_t d = 0; d < static_cast<std::size_t>(of.rank()); ++d) {
    if (rounded(lowering, f, d) != 1) return false;
    for (std::size_t n = 0; n < of.definitions.size(); ++n)
      if (loaded_multiple(lowering, f, n, d) != 1) return false;
  }
  return true;
}

Box loaded_box(const Lowering &lowering, std::uint32_t f, std::size_t n, Box box) {
  for (std::size_t d = 0; d < box.size(); ++d) {
    Affine &upper = box[d].upper;
    if (loads_only_asked(lowering, f, d)) upper = upper - (rounded(lowering, f, d) - 1);
    const std::int64_t multiple = loaded_multiple(lowering, f, n, d);
    if (multiple == 1) continue;
    // Inside of loops it may be computed in parts that begin anywhere.
    const bool whole = lowering.function(f).output || lowering.schedules[f].compute.level == Place::Level::root;
    const Affine pieces = quotient(upper - box[d].lower + multiple, multiple),
                 all = box[d].lower + pieces * multiple - 1;
    upper = whole && all.known() ? all : upper + (multiple - 1);
  }
  return box;
}

namespace {

// The first and last elements may exceed 32 bits, in which the kernels count them.
void require_narrow(Lowering &lowering, std::uint32_t f, std::size_t d, const Interval &elements) {
  const auto is_product = [&](const Symbol &symbol) {
    const Derived *derived = lowering.symbols.derived(symbol);
    return derived && derived->op == Op::Mul;
  };
  constexpr std::int64_t most = std::numeric_limits<std::int32_t>::max();
  const passes::RangeOfSymbol range = lowering.symbols.range();
  const bool product = lowering.symbols.depends_on(elements.lower, is_product) ||
                       lowering.symbols.depends_on(elements.upper, is_product);
  const auto exceeds = [&](const Affine &number) { return at_most(number, range).value_or(most + 1) > most; };
  const bool below = product || at_least(elements.lower, range).value_or(-most - 2) < -most - 1;
  const bool above = product || exceeds(elements.upper);
  const bool many = exceeds(elements.upper - elements.lower + 1);
  if (!below && !above && !many) return;

  const Value lower = lowering.integers.wide_value_of(elements.lower),
              upper = lowering.integers.wide_value_of(elements.upper);
  std::optional<Value> fits;
  const auto require = [&](Op op, const Value &number, std::int64_t end) {
    const Value holds = lowering.write(op, number, Value::constant(ScalarType::Int64, end));
    fits = fits ? lowering.write(Op::And, *fits, holds) : holds;
  };
  // One of the two follows from the other, if the sign of the first element's index is known.
  const bool from_zero = !product && at_least(elements.lower, range).value_or(-1) >= 0;
  const bool to_zero = !product && at_most(elements.lower, range).value_or(1) <= 0;
  if (!from_zero) require(Op::Less, lowering.write(Op::Sub, upper, lower), most);
  if (from_zero || !to_zero) require(Op::Less, upper, most);
  if (below) require(Op::GreaterEqual, lower, -most - 1);
  const Function &of = lowering.function(f);
  Message message;
  message.texts = {fmt::format("'{}' is needed at indices from ", of.name), " to ",
                   fmt::format(" along '{}', which 32 bits do not count; clamp the index, or compute less at once",
                               of.definitions[0].pure[d]->name)};
  message.values = {lower, upper};
  const auto call = lowering.last_call.find(f);
  lowering.host.add(
      {Requirement{*fits, std::move(message), call == lowering.last_call.end() ? of.where : call->second.where}});
}

[[noreturn]] void refuse_unknown(const Lowering &lowering, std::uint32_t f, std::size_t d) {
  const Function &of = lowering.function(f);
  SourceLocation where = of.where;
  std::string index = "an index";
  if (const auto call = lowering.last_call.find(f); call != lowering.last_call.end()) {
    where = call->second.where;
    if (const auto unknown = call->second.unknown.find(d); unknown != call->second.unknown.end()) {
      where = unknown->second.where;
      index = fmt::format("the index {},", unknown->second.text);
    }
  }
  throw UserError(where, fmt::format("'{0}' is needed along '{1}' at {2} whose bounds are not known, so that it cannot "
                                     "be told how much of '{0}' to compute; write clamp(index, low, high), or "
                                     "{0}.bound({1}, begin, extent)",
                                     of.name, of.definitions[0].pure[d]->name, index));
}

}  // namespace

Region region_of(Lowering &lowering, std::uint32_t f, Box box) {
  for (Interval &dimension : box)
    dimension = {lowering.symbols.as_known(dimension.lower), lowering.symbols.as_known(dimension.upper)};
  Region region;
  for (std::size_t d = 0; d < box.size(); ++d) {
    if (!box[d].lower.known() || !box[d].upper.known()) refuse_unknown(lowering, f, d);
    if (!lowering.kernel.open) require_narrow(lowering, f, d, box[d]);
    const Affine begin = lowering.integers.bound(box[d].lower);
    Affine extent = box[d].upper - box[d].lower + 1;
    if (!extent.known()) extent = box[d].upper - begin + 1;
    if (!extent.known()) extent = lowering.integers.bound(box[d].upper) - begin + 1;
    if (!extent.is_constant()) extent = lowering.integers.bound_extent(extent);
    region.push_back({begin, extent});
  }
  return region;
}

Affine origin_of(const Lowering &lowering, std::uint32_t array, std::size_t d) {
  const auto found = lowering.ranges.origins.find(array);
  return found == lowering.ranges.origins.end() ? Affine(0) : found->second[d];
}

Affine begin_of_output(const Lowering &lowering, std::uint32_t f, std::size_t d) {
  const auto bounds = lowering.schedules[f].bounds.find(static_cast<int>(d));
  if (bounds != lowering.schedules[f].bounds.end()) return bounds->second.first;
  return origin_of(lowering, *lowering.function(f).output, d);
}

Box box_of_output(const Lowering &lowering, std::uint32_t f) {
  Box box;
  for (int d = 0; d < lowering.function(f).rank(); ++d) {
    const auto bounds = lowering.schedules[f].bounds.find(d);
    const Affine begin = begin_of_output(lowering, f, static_cast<std::size_t>(d));
    const Affine extent = bounds == lowering.schedules[f].bounds.end()
                              ? Affine(Symbol::extent(*lowering.function(f).output, d))
                              : Affine(bounds->second.second);
    box.push_back({begin, begin + extent - 1});
  }
  return box;
}

}  // namespace samite::schedules
