#include "samite/schedule/requirements.h"

#include "samite/base/error.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>
#include <ranges>

namespace samite::schedules {

using namespace ir;
using passes::Affine;
using passes::AffineTerm;
using passes::Interval;
using passes::Symbol;

namespace {

void require(Lowering &lowering, Value condition, Message message) {
  lowering.host.add({Requirement{condition, std::move(message), lowering.write.where}});
}
void require(Lowering &lowering, Value condition, Value value, std::vector<std::string> texts) {
  require(lowering, condition, Message{std::move(texts), {value}});
}

// The arrays of a Func with several values must have equal extents.
void require_equal_outputs(Lowering &lowering, std::uint32_t f) {
  const Function &of = lowering.function(f);
  if (!of.output) return;
  for (std::uint32_t v = 1; v < of.types.size(); ++v)
    for (int d = 0; d < of.rank(); ++d) {
      const Value first = lowering.integers.value_of(Symbol::extent(*of.output, d)),
                  other = lowering.integers.value_of(Symbol::extent(*of.output + v, d));
      const Value equal = lowering.write(Op::Equal, first, other);
      lowering.host.flush();
      Message message;
      message.texts = {fmt::format("'{}' fills the arrays '{}' and '{}', which have ", of.name,
                                   lowering.algorithm.parameters[*of.output].name,
                                   lowering.algorithm.parameters[*of.output + v].name),
                       " and ", fmt::format(" elements along dimension {}; give arrays of the same extents", d)};
      message.values = {first, other};
      lowering.host.steps->push_back({Requirement{equal, std::move(message), of.where}});
    }
}

// The operations that a definition's values and indices need unconditionally.
std::vector<const Stmt *> unconditional(const Definition &definition) {
  std::set<LocalId> needed;
  const auto add = [&](const Value &value) {
    if (value.is_local()) needed.insert(value.id());
  };
  for (const Value &value : definition.values) add(value);
  for (const Value &index : definition.indices) add(index);
  std::vector<const Stmt *> found;
  for (const auto &stmt : std::views::reverse(definition.body)) {
    const Let *let = stmt.as<Let>();
    if (!needed.contains(let->local)) continue;
    found.push_back(&stmt);
    if (let->value.op == Op::Select)
      add(let->value.operands[0]);
    else
      for (const Value &operand : let->value.operands) add(operand);
  }
  return found;
}

// A linear combination of variables: its region is exactly from its least to its greatest value.
bool is_linear(const Affine &form, const Environment &environment) {
  return form.known() && std::ranges::all_of(form.terms(), [&](const AffineTerm &term) {
           return term.kind == AffineTerm::Kind::Symbol &&
                  (term.symbol.kind != Symbol::Kind::Local || environment.contains(term.symbol.id));
         });
}

// Functions that compute all elements in their boxes. Those inside kernels may skip some of theirs, if their indices
// are correlated.
std::set<std::uint32_t> computed_wholly(const Lowering &lowering, const Boxes &boxes) {
  std::set<std::uint32_t> wholly;
  for (const auto &[f, box] : boxes)
    if (lowering.function(f).output || lowering.schedules[f].compute.level == Place::Level::root ||
        lowering.schedules[f].bounds.size() == box->size())
      wholly.insert(f);
  const auto in_parts = [&](std::uint32_t caller, std::size_t n, std::uint32_t f) {
    const Definition &definition = lowering.function(caller).definitions[n];
    const Forms forms(definition.body);
    const Environment environment =
        environment_of(lowering, definition, loaded_box(lowering, caller, n, *boxes.at(caller)));
    for (const Stmt &stmt : definition.body) {
      const Operation &operation = stmt.as<Let>()->value;
      const auto called = operation.op == Op::Load ? lowering.algorithm.function_of(operation.array) : std::nullopt;
      if (!called || called->function != f) continue;
      std::set<Symbol> seen;
      for (const Value &index : operation.operands) {
        const Affine form = forms.form(index);
        if (!is_linear(form, environment)) return true;
        for (const AffineTerm &term : form.terms())
          if (term.symbol.kind == Symbol::Kind::Local && !seen.insert(term.symbol).second) return true;
      }
    }
    return false;
  };
  for (unsigned int f : std::views::reverse(lowering.algorithm.order)) {
    if (!boxes.contains(f) || wholly.contains(f)) continue;
    bool whole = true;
    for (const auto &[caller, box] : boxes)
      for (std::size_t n = 0; n < lowering.function(caller).definitions.size(); ++n)
        if (caller != f &&
            std::ranges::count(called_by(lowering.algorithm, lowering.function(caller).definitions[n]), f) != 0)
          whole = whole && wholly.contains(caller) && !in_parts(caller, n, f);
    if (whole) wholly.insert(f);
  }
  return wholly;
}

// The required region of one dimension of an array, and the accesses.
struct Need {
  Interval interval;
  SourceLocation lower_where, upper_where;

  void add(const Interval &more, SourceLocation where) {
    const auto extend = [&](Affine &side, SourceLocation &of, const Affine &with) {
      if (!with.known() || side == with) return;
      side = with;
      of = where;
    };
    extend(interval.lower, lower_where, least(interval.lower, more.lower));
    extend(interval.upper, upper_where, greatest(interval.upper, more.upper));
  }
};

// Functions whose regions the schedule rounds up, and which thereby enlarge f's.
std::vector<std::string> roundings(const Lowering &lowering, std::uint32_t f) {
  std::vector<std::string> found;
  std::set<std::uint32_t> seen{f};
  std::vector<std::uint32_t> open{f};
  while (!open.empty()) {
    const std::uint32_t g = open.back();
    open.pop_back();
    const Function &of = lowering.function(g);
    for (std::size_t d = 0; d < of.definitions[0].pure.size(); ++d) {
      const std::string &variable = of.definitions[0].pure[d]->name;
      const auto &alignments = lowering.schedules[g].alignments;
      if (const auto modulus = alignments.find(static_cast<int>(d)); modulus != alignments.end())
        found.push_back(fmt::format("{}.align_bounds({}, {})", of.name, variable, modulus->second));
      if (!of.output && rounded(lowering, g, d) != 1 && !loads_only_asked(lowering, g, d))
        found.push_back(fmt::format("the Tail::round_up of '{}' along '{}'", of.name, variable));
      for (std::size_t n = 0; n < of.definitions.size(); ++n)
        if (loaded_multiple(lowering, g, n, d) != 1) {
          found.push_back(fmt::format("the Tail::predicate_stores of '{}' along '{}'", of.name, variable));
          break;
        }
    }
    for (std::uint32_t caller = 0; caller < lowering.algorithm.functions.size(); ++caller)
      for (const Definition &definition : lowering.function(caller).definitions)
        if (std::ranges::count(called_by(lowering.algorithm, definition), g) != 0 && seen.insert(caller).second)
          open.push_back(caller);
  }
  return found;
}

void require_need(Lowering &lowering, std::uint32_t f, std::uint32_t array, int dimension, const Need &need,
                  bool written, const Environment &environment) {
  const auto called = lowering.algorithm.function_of(array);
  std::optional<std::uint32_t> given;  // the caller's array
  Affine begin = 0, extent = 0;
  if (!called) {
    given = array;
    begin = origin_of(lowering, array, static_cast<std::size_t>(dimension));
  } else if (const auto bounds = lowering.schedules[called->function].bounds.find(dimension);
             called->function != f && bounds != lowering.schedules[called->function].bounds.end()) {
    begin = bounds->second.first;
    extent = bounds->second.second;
  } else if (lowering.function(called->function).output) {
    given = *lowering.function(called->function).output + called->number;
    begin = begin_of_output(lowering, called->function, static_cast<std::size_t>(dimension));
  } else {
    return;
  }
  if (given) extent = Symbol::extent(*given, dimension);
  const Affine below = need.interval.lower - begin, above = need.interval.upper - begin - extent + 1;
  const bool lower_fits = at_least(below, lowering.symbols.range()).value_or(-1) >= 0;
  const bool upper_fits = at_most(above, lowering.symbols.range()).value_or(1) <= 0;
  if ((lower_fits && upper_fits) || !below.known() || !above.known()) return;

  lowering.write.where = upper_fits ? need.lower_where : need.upper_where;
  const Value lower = lowering.integers.wide_value_of(need.interval.lower),
              upper = lowering.integers.wide_value_of(need.interval.upper);
  const Value room = lowering.integers.wide_value_of(begin + extent), count = lowering.integers.wide_value_of(extent);
  std::optional<Value> fits;
  if (!lower_fits) fits = lowering.write(Op::GreaterEqual, lower, lowering.integers.wide_value_of(begin));
  if (!upper_fits) {
    const Value below_end = lowering.write(Op::Less, upper, room);
    fits = fits ? lowering.write(Op::And, *fits, below_end) : below_end;
  }
  // An empty loop needs nothing.
  for (const auto &[variable, interval] : environment) {
    const Affine count = interval.upper - interval.lower + 1;
    if (!count.known() || at_least(count, lowering.symbols.range()).value_or(0) > 0) continue;
    fits = lowering.write(Op::Or, *fits, lowering.write(Op::LessEqual, lowering.integers.value_of(count), number(0)));
  }
  lowering.host.flush();
  Message message;
  message.values = {lower, upper};
  if (given) {
    const std::string &name = lowering.algorithm.parameters[*given].name;
    message.texts = {
        fmt::format("'{}' {} '{}' at indices from ", lowering.function(f).name, written ? "updates" : "reads", name),
        " to ", fmt::format(" along its dimension {}, which {} ", dimension, begin == Affine(0) ? "has" : "begins at"),
        fmt::format(" elements; give a larger array, or {}",
                    written  ? "go through fewer indices"
                    : called ? "ask for less"
                             : fmt::format("let a Func have values beyond its edges: repeat_edge({})", name))};
    if (const std::vector<std::string> rounded = roundings(lowering, f); !rounded.empty())
      message.texts.back() += fmt::format("; what is computed was made larger by {}", fmt::join(rounded, " and "));
    if (!(begin == Affine(0))) {
      message.values.push_back(lowering.integers.wide_value_of(begin));
      message.texts.insert(message.texts.end() - 1, " and has ");
    }
    message.values.push_back(count);
  } else {
    const std::string &name = lowering.function(called->function).name;
    const std::string &variable =
        lowering.function(called->function).definitions[0].pure[static_cast<std::size_t>(dimension)]->name;
    message.texts = {fmt::format("'{}' calls '{}' at indices from ", lowering.function(f).name, name), " to ",
                     fmt::format(" along '{0}', and {1}.bound({0}, {2}, {3}) says that no others are needed; leave "
                                 "that out, or give the bounds that are needed",
                                 variable, name, begin.constant(), extent.constant())};
  }
  lowering.host.steps->push_back({Requirement{*fits, std::move(message), lowering.write.where}});
}

// `loaded` and `stored`: the ranges of the variables for which elements are loaded, and for which they are stored.
void require_room_for(Lowering &lowering, std::uint32_t f, const Definition &definition, const Environment &loaded,
                      const Environment &stored) {
  const Forms forms(definition.body);
  const auto is_own = [&](std::uint32_t array) {
    const auto called = lowering.algorithm.function_of(array);
    return called && called->function == f;
  };
  // By array and dimension.
  std::map<std::pair<std::uint32_t, int>, Need> reads, writes;
  const auto add = [&](std::map<std::pair<std::uint32_t, int>, Need> &needs, std::uint32_t array,
                       const std::vector<Value> &indices, const Environment &environment, SourceLocation where) {
    for (std::size_t d = 0; d < indices.size(); ++d) {
      const Affine form = forms.form(indices[d]);
      if (!is_linear(form, environment)) continue;
      const Interval interval = over_all(form, environment);
      if (!interval.lower.known() || !interval.upper.known()) continue;
      const auto [need, fresh] = needs.try_emplace({array, static_cast<int>(d)}, Need{interval, where, where});
      if (!fresh) need->second.add(interval, where);
    }
  };
  for (const Stmt *stmt : unconditional(definition)) {
    const Operation &operation = stmt->as<Let>()->value;
    if (operation.op == Op::Load && operation.array != lowering.algorithm.promises)
      add(reads, operation.array, operation.operands, is_own(operation.array) ? stored : loaded, stmt->where());
  }
  if (lowering.function(f).output && &definition != &lowering.function(f).definitions[0])
    add(writes, *lowering.function(f).output, definition.indices, stored, definition.where);
  for (const auto &[place, need] : reads) require_need(lowering, f, place.first, place.second, need, false, loaded);
  for (const auto &[place, need] : writes) require_need(lowering, f, place.first, place.second, need, true, stored);
}

}  // namespace

void require_room(Lowering &lowering, const Boxes &boxes) {
  for (const auto &[f, box] : boxes) require_equal_outputs(lowering, f);
  for (const std::uint32_t f : computed_wholly(lowering, boxes)) {
    const Box box = lowering.function(f).output ? box_of_output(lowering, f) : *boxes.at(f);
    for (std::size_t n = 0; n < lowering.function(f).definitions.size(); ++n) {
      const Definition &definition = lowering.function(f).definitions[n];
      if (!definition.predicate)
        require_room_for(lowering, f, definition, environment_of(lowering, definition, loaded_box(lowering, f, n, box)),
                         environment_of(lowering, definition, box));
    }
  }
}

namespace {

// An array that begins far from zero may end beyond what 32 bits count.
void require_countable_indices(Lowering &lowering, const Function &of, int dimension, const Value &extent) {
  const Affine origin = origin_of(lowering, *of.output, static_cast<std::size_t>(dimension));
  if (at_most(origin, lowering.symbols.range()).value_or(1) <= 0) return;
  const Value begin = lowering.integers.wide_value_of(origin);
  const Value end = lowering.write(Op::Add, begin, lowering.write.converted(extent, ScalarType::Int64));
  Message message;
  message.texts = {fmt::format("array '{}' begins at ", lowering.algorithm.parameters[*of.output].name),
                   fmt::format(" along its dimension {} and has ", dimension),
                   " elements, more than indices of 32 bits reach; let it begin nearer to 0"};
  message.values = {begin, extent};
  require(
      lowering,
      lowering.write(Op::LessEqual, end,
                     Value::constant(ScalarType::Int64, std::int64_t{std::numeric_limits<std::int32_t>::max()} + 1)),
      std::move(message));
}

}  // namespace

void require_output(Lowering &lowering, std::uint32_t f) {
  const Function &of = lowering.function(f);
  for (int d = 0; d < of.rank(); ++d) {
    const std::string &name = of.definitions[0].pure[static_cast<std::size_t>(d)]->name;
    const std::string array = fmt::format("array '{}' has ", lowering.algorithm.parameters[*of.output].name);
    lowering.write.where = of.where;
    const Value given = lowering.integers.value_of(Symbol::extent(*of.output, d));
    if (const auto bounds = lowering.schedules[f].bounds.find(d); bounds != lowering.schedules[f].bounds.end()) {
      const auto [begin, extent] = bounds->second;
      const Affine origin = origin_of(lowering, *of.output, static_cast<std::size_t>(d));
      const std::string goes = fmt::format("the schedule of '{}' says that '{}' goes from {} on", of.name, name, begin);
      if (origin.is_constant() && origin.constant() != begin)
        throw UserError(of.where, fmt::format("{}; '{}' fills an array, whose elements begin at {}", goes, of.name,
                                              origin.constant()));
      if (!origin.is_constant()) {
        const Value first = lowering.integers.value_of(origin);
        require(lowering, lowering.write(Op::Equal, first, number(begin)), first,
                {goes + fmt::format("; array '{}' begins at ", lowering.algorithm.parameters[*of.output].name),
                 " there; say so by begins_at, or give another schedule"});
      }
      require(lowering, lowering.write(Op::Equal, given, number(extent)), given,
              {fmt::format("{} for {} elements; {}", goes, extent, array),
               " there; give an array of that extent, or another schedule"});
    }
    require_countable_indices(lowering, of, d, given);
    if (const std::int64_t modulus = rounded(lowering, f, static_cast<std::size_t>(d)); modulus != 1)
      require(
          lowering, lowering.write(Op::Equal, lowering.write(Op::Rem, given, number(modulus)), number(0)), given,
          {fmt::format("the schedule of '{}' rounds '{}' up to a multiple of {}; {}", of.name, name, modulus, array),
           " there; give an array of such an extent, or use Tail::guard"});
  }
}

}  // namespace samite::schedules
