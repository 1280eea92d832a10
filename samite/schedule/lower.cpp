#include "samite/schedule/lower.h"

#include "samite/base/error.h"
#include "samite/ir/visit.h"
#include "samite/passes/fold.h"
#include "samite/passes/plan_tile_memory.h"
#include "samite/schedule/finish_kernel.h"
#include "samite/schedule/functions_of_schedule.h"
#include "samite/schedule/inline_calls.h"
#include "samite/schedule/loop_nest.h"
#include "samite/schedule/nest.h"
#include "samite/schedule/specialize.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <numeric>
#include <optional>
#include <ranges>
#include <set>

namespace samite::schedules {
namespace {

using namespace ir;
using passes::Affine;
using passes::AffineTerm;
using passes::Interval;
using passes::Range;
using passes::Symbol;

constexpr std::int64_t elements_at_once = 4;       // that a thread fetches for its block
constexpr std::int64_t most_unrolled = 1024;       // copies of a body
constexpr std::int64_t most_registers = 256;       // elements that a thread keeps where nothing is said of it
constexpr std::int64_t most_iterations = 1 << 30;  // from here on as many as a launch says
constexpr std::int64_t most_elements = 1 << 24;  // of a function, inside of a kernel, where their number is a constant

Value number(std::int64_t value) { return Value::constant(ScalarType::Int32, value); }

// A dimension of a region: from `begin` on, so many.
struct Extent {
  Affine begin, extent;
};
using Region = std::vector<Extent>;
using Box = std::vector<Interval>;

// Where the values of a function are kept.
struct Storage {
  bool computed = false;              // else there is room for them alone
  std::vector<std::uint32_t> arrays;  // by value: a parameter, or a local array
  bool local = false;
  std::vector<Affine> begin;
  std::vector<int> order;       // of an array: its dimensions, the outermost first
  std::vector<Affine> strides;  // of a local array
  std::vector<std::optional<std::int64_t>> folds;
  MemorySpace space = MemorySpace::device;
  bool by_thread = false;         // on the CPU: each element is there for each thread
  std::optional<int> owner = {};  // the thread nest each of whose threads has elements of its own
  // Where there was made room for it: how many kernels, loops over lanes and loops over threads were around that.
  int inside = 0;
};

// A definition whose loops are being written.
struct Site {
  std::uint32_t function;
  std::size_t number;
  const Definition &definition;
  const DefinitionSchedule &schedule;
  Forms forms;
  Nest nest;
  std::set<std::size_t> whole;  // splits, all of whose pieces are whole here
};

// The iteration before the one that is written, of a loop whose iterations follow each other.
struct Earlier {
  const Site *before = nullptr;       // null in the first one
  std::optional<Symbol> symbol = {};  // of a loop: 0 in the first iteration
};

struct OpenLoop {
  Symbol symbol;
  Affine extent;
  bool thread;
  bool inside = false;  // of a loop over threads, each of which goes through it by itself
};

// The loops of threads that are open. What each thread does is gathered in `group`, until the block does something
// together, before which the loops are written.
struct ThreadNest {
  std::vector<NestLoop> loops;
  std::vector<std::int64_t> caps;
  Block *outside;
  Block group;
  int number = 0;                  // of the group
  int id = 0;                      // of the nest
  std::vector<std::string> lines;  // of the loops, as the user knows them
  int line = 0;                    // of the group
  bool vectors;                    // the CPU's lanes are loops inside
};

class Lowering {
 public:
  Lowering(const CapturedPipeline &captured, const Choice &choice) : gpu_(choice.gpu) {
    Algorithm algorithm = algorithm_of(captured);
    schedules_ = schedule_of(captured, choice, algorithm);
    algorithm_ = with_inlined_calls(std::move(algorithm), schedules_);
    next_local_ = algorithm_.local_count;
    out_ = &host_;
    steps_ = &program_.steps;
  }

  Program lower() {
    program_.name = algorithm_.name;
    program_.parameters = algorithm_.parameters;
    program_.where = algorithm_.where;
    const int pipeline = nest_.open("pipeline " + algorithm_.name);
    find_reductions();
    compute_at_root();
    flush_host();
    program_.local_count = next_local_;
    nest_.close(pipeline);
    program_.loop_nest = nest_.text();
    return std::move(program_);
  }

 private:
  static std::vector<FunctionSchedule> schedule_of(const CapturedPipeline &captured, const Choice &choice,
                                                   Algorithm &algorithm) {
    const CapturedSchedule::For target = choice.gpu ? CapturedSchedule::For::cuda : CapturedSchedule::For::cpu;
    std::vector<std::string> names;
    for (const CapturedSchedule &schedule : captured.schedules) {
      names.push_back(schedule.name);
      if (choice.name.empty() ? schedule.target == target : schedule.name == choice.name)
        return scheduled(algorithm, define_functions_of_schedule(algorithm, captured, schedule), choice.gpu);
    }
    if (choice.name.empty()) return default_schedule(algorithm, choice.gpu);
    throw UserError(algorithm.where,
                    fmt::format("pipeline '{}' has no schedule '{}'; it has: {}", algorithm.name, choice.name,
                                names.empty() ? "none" : fmt::format("{}", fmt::join(names, ", "))));
  }

  const Function &function(std::uint32_t f) const { return algorithm_.functions[f]; }

  // Values and statements.

  Value operation(Operation operation) {
    if (const auto folded = passes::fold(operation)) return *folded;
    const Type type = operation.type;
    const LocalId local = next_local_++;
    out_->emplace_back(Let{local, std::move(operation)}, where_);
    return Value::local(type, local);
  }
  Value operator()(Op op, Value a, Value b) {
    const Type type = info(op).typing == Typing::Compare ? a.type().of(ScalarType::Bool) : a.type();
    return operation({op, type, {a, b}});
  }
  Value as_i32(Value value) {
    return value.type() == Type(ScalarType::Int32) ? value : operation({Op::Cast, ScalarType::Int32, {value}});
  }

  Value value_of(const Symbol &symbol) {
    switch (symbol.kind) {
      case Symbol::Kind::Parameter: return as_i32(Value::parameter(algorithm_.parameters[symbol.id].type, symbol.id));
      case Symbol::Kind::Extent: return operation({Op::Extent, ScalarType::Int32, {}, symbol.id, symbol.dimension});
      default: break;
    }
    if (const auto value = values_.find(symbol); value != values_.end()) return value->second;
    if (const auto bound = bound_.find(symbol); bound != bound_.end()) {
      if (threads_ && bound->second.group == threads_->number) return bound->second.value;
      return value_of(bound->second.form);
    }
    if (const auto derived = derived_.find(symbol); derived != derived_.end()) {
      const Value a = value_of(derived->second.a), b = value_of(derived->second.b);
      return (*this)(derived->second.op, a, b);
    }
    throw InternalError("an index is used where it is not known: " + to_string(symbol));
  }

  // Rounded down, as forms are; numbers that are not negative need no care.
  Value divided(const Affine &a, std::int64_t by, bool remainder) {
    const Value value = value_of(a);
    const bool natural = at_least(a, range()).value_or(-1) >= 0;
    const bool power = (by & (by - 1)) == 0;
    if (power && remainder) return (*this)(Op::And, value, number(by - 1));
    if (power) return (*this)(Op::ShiftRight, value, number(__builtin_ctzll(static_cast<unsigned long long>(by))));
    if (natural) return (*this)(remainder ? Op::Rem : Op::Div, value, number(by));
    Value rest = (*this)(Op::Rem, value, number(by));
    const Value negative = (*this)(Op::Less, rest, number(0));
    rest = operation({Op::Select, ScalarType::Int32, {negative, (*this)(Op::Add, rest, number(by)), rest}});
    if (remainder) return rest;
    return (*this)(Op::Div, (*this)(Op::Sub, value, rest), number(by));
  }

  Value value_of(const AffineTerm &term) {
    using TermKind = AffineTerm::Kind;
    switch (term.kind) {
      case TermKind::Symbol: return value_of(term.symbol);
      case TermKind::Quotient: return divided((*term.operands)[0], term.by, false);
      case TermKind::Remainder: return divided((*term.operands)[0], term.by, true);
      case TermKind::Least:
      case TermKind::Greatest: {
        const Value a = value_of((*term.operands)[0]), b = value_of((*term.operands)[1]);
        return (*this)(term.kind == TermKind::Least ? Op::Min : Op::Max, a, b);
      }
    }
    throw InternalError("a term of no kind");
  }

  Value value_of(const Affine &form) {
    internal_check(form.known(), "a form that is not known has no value");
    std::optional<Value> sum;
    for (const AffineTerm &term : form.terms()) {
      const std::int64_t size = term.coefficient < 0 ? -term.coefficient : term.coefficient;
      Value part = value_of(term);
      if (size != 1) part = (*this)(Op::Mul, part, number(size));
      if (!sum)
        sum = term.coefficient < 0 ? operation({Op::Neg, ScalarType::Int32, {part}}) : part;
      else
        sum = (*this)(term.coefficient < 0 ? Op::Sub : Op::Add, *sum, part);
    }
    if (!sum) return number(form.constant());
    if (form.constant() == 0) return *sum;
    return form.constant() < 0 ? (*this)(Op::Sub, *sum, number(-form.constant()))
                               : (*this)(Op::Add, *sum, number(form.constant()));
  }

  passes::RangeOfSymbol range() const {
    return [this](const Symbol &symbol) -> Range {
      if (const auto known = known_.find(symbol); known != known_.end()) return known->second;
      if (symbol.kind == Symbol::Kind::Extent) return {0, (std::int64_t{1} << 31) - 1};
      const auto found = ranges_.find(symbol);
      return found == ranges_.end() ? Range{} : found->second;
    };
  }

  Symbol new_symbol() { return Symbol::local(next_local_++); }
  Affine derived(Derived what) {
    const Symbol symbol = new_symbol();
    Range within;
    if (what.range.lower.known()) within.lower = range_of(what.range.lower, range()).lower;
    if (what.range.upper.known()) within.upper = range_of(what.range.upper, range()).upper;
    ranges_[symbol] = within;
    derived_.insert_or_assign(symbol, std::move(what));
    return symbol;
  }

  // A form that is used again and again: computed once, where it is not simple.
  Affine bound(const Affine &form) {
    constexpr std::size_t simple = 2;
    if (form.nodes() <= simple) return form;
    const Symbol symbol = new_symbol();
    ranges_[symbol] = range_of(form, range());
    if (threads_ && depends_on_threads(form, /*or_inside=*/true)) {
      bound_.insert_or_assign(symbol, Bound{form, value_of(form), threads_->number});
      return symbol;
    }
    Block *const before = out_;
    if (threads_) out_ = threads_->outside;
    values_.insert_or_assign(symbol, value_of(form));
    computed_.insert_or_assign(symbol, form);
    out_ = before;
    return symbol;
  }

  bool depends_on(const Affine &form, const std::function<bool(const Symbol &)> &of) const {
    bool depends = false;
    form.for_each_symbol([&](const Symbol &symbol) {
      if (depends || of(symbol)) {
        depends = true;
        return;
      }
      if (const auto bound = bound_.find(symbol); bound != bound_.end()) depends = depends_on(bound->second.form, of);
      if (const auto made = derived_.find(symbol); made != derived_.end())
        depends = depends_on(made->second.a, of) || depends_on(made->second.b, of);
    });
    return depends;
  }
  // On the index of a thread, or on that of a loop that each thread goes through by itself.
  bool depends_on_threads(const Affine &form, bool or_inside = false) const {
    return depends_on(form, [&](const Symbol &symbol) {
      return std::ranges::any_of(open_, [&](const OpenLoop &loop) {
        return (loop.thread || (or_inside && loop.inside)) && loop.symbol == symbol;
      });
    });
  }

  // Where the interval lies as these loops, the inner ones last, go through theirs.
  Interval over_loops(Interval interval, const std::vector<OpenLoop> &loops) const {
    const auto of_loops = [&](const Symbol &symbol) {
      return std::ranges::any_of(loops, [&](const OpenLoop &loop) { return loop.symbol == symbol; });
    };
    for (bool changed = true; changed;) {
      changed = false;
      for (Affine *side : {&interval.lower, &interval.upper}) {
        std::optional<Symbol> made;
        side->for_each_symbol([&](const Symbol &symbol) {
          if (!made && (bound_.contains(symbol) || derived_.contains(symbol)) && depends_on(symbol, of_loops))
            made = symbol;
        });
        if (!made) continue;
        changed = true;
        if (const auto bound = bound_.find(*made); bound != bound_.end())
          *side = side->substitute(*made, bound->second.form);
        else
          *side = side == &interval.lower ? over(*side, *made, derived_.at(*made).range).lower
                                          : over(*side, *made, derived_.at(*made).range).upper;
      }
    }
    for (const auto &loop : std::views::reverse(loops)) interval = over(interval, loop.symbol, {0, loop.extent - 1});
    return interval;
  }

  // Regions.

  void find_reductions() {
    for (const Function &function : algorithm_.functions)
      for (const Definition &definition : function.definitions) {
        const Forms forms(definition.bounds);
        std::map<LocalId, Value> made;
        const auto rename = [&](const Value &value) {
          const auto found = value.is_local() ? made.find(value.id()) : made.end();
          return found == made.end() ? value : found->second;
        };
        const auto integer = [&](const Value &value) -> Affine {
          if (const Affine form = forms.form(value); form.known() && form.nodes() < Affine::most_nodes / 2) return form;
          for (const Stmt &stmt : definition.bounds) {
            const Let *let = stmt.as<Let>();
            if (made.contains(let->local)) continue;
            Operation copy = let->value;
            if (copy.op == Op::Load)
              throw UserError(stmt.where(),
                              fmt::format("the range of a Reduction in '{}' is loaded from an array; give "
                                          "it as an argument of the pipeline",
                                          function.name));
            for (Value &operand : copy.operands) operand = rename(operand);
            where_ = stmt.where();
            made.insert_or_assign(let->local, operation(std::move(copy)));
          }
          const Symbol symbol = new_symbol();
          values_.insert_or_assign(symbol, as_i32(rename(value)));
          return symbol;
        };
        for (const ReductionVariable &reduction : definition.reductions)
          reductions_.insert_or_assign(reduction.variable.local,
                                       Extent{integer(reduction.begin), integer(reduction.extent)});
        for (const JoinedVariable &joined : definition.joined)
          reductions_.insert_or_assign(joined.variable.local, Extent{integer(joined.begin), integer(joined.extent)});
        for (const Guard &guard : definition.guards) guard_extents_.insert_or_assign(&guard, integer(guard.extent));
      }
  }

  void add_reductions(const Definition &definition, Environment &environment) const {
    for (const ReductionVariable &reduction : definition.reductions) {
      const Extent &range = reductions_.at(reduction.variable.local);
      environment.insert_or_assign(reduction.variable.local, Interval{range.begin, range.begin + range.extent - 1});
    }
    for (const JoinedVariable &joined : definition.joined) {
      const Extent &range = reductions_.at(joined.variable.local);
      environment.insert_or_assign(joined.variable.local, Interval{range.begin, range.begin + range.extent - 1});
    }
  }

  static void unite(std::optional<Box> &box, const Box &with) {
    if (!box) {
      box = with;
      return;
    }
    for (std::size_t d = 0; d < with.size(); ++d) {
      Interval &of = (*box)[d];
      of.lower = of.lower.known() && with[d].lower.known() ? least(of.lower, with[d].lower) : Affine::unknown();
      of.upper = of.upper.known() && with[d].upper.known() ? greatest(of.upper, with[d].upper) : Affine::unknown();
    }
  }

  using Boxes = std::map<std::uint32_t, std::optional<Box>>;

  // What a definition calls while its variables lie in the environment.
  void add_calls(const Definition &definition, const Forms &forms, const Environment &environment, Boxes &boxes) const {
    for (const Stmt &stmt : definition.body) {
      const Let *let = stmt.as<Let>();
      if (let->value.op != Op::Load) continue;
      const auto called = algorithm_.function_of(let->value.array);
      if (!called) continue;
      Box box;
      for (const Value &index : let->value.operands) box.push_back(forms.interval(index, environment, range()));
      unite(boxes[called->function], box);
      last_call_[called->function] = stmt.where();
    }
  }

  // With what a function's own updates touch, and what the schedule says of its bounds.
  void complete(std::uint32_t f, Box &box) const {
    // What an update touches may depend on how far another one goes.
    constexpr int most_rounds = 8;
    for (int round = 0; round < most_rounds; ++round) {
      const Box before = box;
      grow(f, box);
      if (box == before) {
        box = as_computed(f, box);
        return;
      }
    }
    throw UserError(function(f).where,
                    fmt::format("each update of '{}' touches elements that others of them reach, further "
                                "and further; write them as Funcs of their own",
                                function(f).name));
  }
  void grow(std::uint32_t f, Box &box) const {
    const Function &of = function(f);
    for (std::size_t n = 1; n < of.definitions.size(); ++n) {
      const Definition &definition = of.definitions[n];
      const Forms forms(definition.body);
      const Box all = as_computed(f, box);
      const Environment environment = environment_of(definition, all);
      std::optional<Box> touched = box;
      Box written;
      for (std::size_t d = 0; d < box.size(); ++d)
        written.push_back(definition.pure[d] ? box[d] : forms.interval(definition.indices[d], environment, range()));
      unite(touched, written);
      Boxes own;
      add_calls(definition, forms, environment, own);
      if (own.contains(f)) {
        for (std::size_t d = 0; d < box.size(); ++d)
          if (definition.pure[d]) (*own.at(f))[d] = box[d];  // it reads what is at the same index there
        unite(touched, *own.at(f));
      }
      box = *touched;
    }
  }
  // The bounds that the schedule gives. Where it rounds the extent up, that may begin anywhere: of the result as many
  // elements are computed as are the largest multiple (floored).
  Box as_computed(std::uint32_t f, Box box) const {
    const FunctionSchedule &schedule = schedules_[f];
    for (const auto &[d, bounds] : schedule.bounds)
      box[static_cast<std::size_t>(d)] = {bounds.first, bounds.first + bounds.second - 1};
    for (const auto &[d, modulus] : schedule.alignments) {
      Interval &of_dimension = box[static_cast<std::size_t>(d)];
      of_dimension.lower = quotient(of_dimension.lower, modulus) * modulus;
      of_dimension.upper = quotient(of_dimension.upper, modulus) * modulus + (modulus - 1);
    }
    if (!function(f).output)
      for (std::size_t d = 0; d < box.size(); ++d) box[d].upper = box[d].upper + (rounded(f, d) - 1);
    return box;
  }
  Region floored(std::uint32_t f, Region region) const {
    if (!function(f).output)
      for (std::size_t d = 0; d < region.size(); ++d)
        if (const std::int64_t modulus = rounded(f, d); modulus != 1)
          region[d].extent = quotient(region[d].extent, modulus) * modulus;
    return region;
  }

  // Splits that round up make the extent of a dimension a multiple of this.
  std::int64_t rounded(std::uint32_t f, std::size_t d) const {
    std::int64_t modulus = 1;
    for (std::size_t n = 0; n < function(f).definitions.size(); ++n) {
      if (!function(f).definitions[n].pure[d]) continue;
      const DefinitionSchedule &schedule = schedules_[f].definitions[n];
      modulus = std::lcm(modulus, rounded_to(schedule, schedule.roots[d]));
      for (const DefinitionSchedule &special : schedule.specializations)
        modulus = std::lcm(modulus, rounded_to(special, special.roots[d]));
    }
    return modulus;
  }

  Environment environment_of(const Definition &definition, const Box &box) const {
    Environment environment;
    for (std::size_t d = 0; d < box.size(); ++d)
      if (definition.pure[d]) environment.insert_or_assign(definition.pure[d]->local, box[d]);
    add_reductions(definition, environment);
    return environment;
  }

  // From what calls on to what is called; of functions that have no values yet.
  void follow(Boxes &boxes) const {
    for (unsigned int f : std::views::reverse(algorithm_.order)) {
      const auto found = boxes.find(f);
      if (found == boxes.end() || has_values(f)) continue;
      complete(f, *found->second);
      for (const Definition &definition : function(f).definitions)
        add_calls(definition, Forms(definition.body), environment_of(definition, *found->second), boxes);
    }
  }

  // What the loops from number `from` on, inside of those that are open, need of functions that have no values yet.
  Boxes needed(const Site &site, std::size_t from) const {
    std::vector<OpenLoop> inner;
    for (std::size_t i = from; i < site.nest.loops.size(); ++i)
      inner.push_back({site.nest.loops[i].symbol, site.nest.loops[i].extent, false});
    Environment environment;
    for (const auto &[variable, form] : site.nest.variables) {
      Interval interval = over_loops(Interval::of(form), inner);
      if (site.nest.guarded.contains(variable))
        interval.upper = least(interval.upper, site.nest.ranges.at(variable).upper);
      environment.insert_or_assign(variable, interval);
    }
    Boxes boxes;
    add_calls(site.definition, site.forms, environment, boxes);
    boxes.erase(site.function);
    follow(boxes);
    return boxes;
  }

  bool has_values(std::uint32_t f) const {
    const auto found = storage_.find(f);
    return found != storage_.end() && found->second.computed;
  }

  // The functions that are called by a definition, or by those, and have no values yet.
  std::set<std::uint32_t> reachable(const Definition &definition, std::uint32_t self) const {
    std::set<std::uint32_t> found;
    std::vector<const Definition *> open{&definition};
    while (!open.empty()) {
      const Definition *at = open.back();
      open.pop_back();
      for (const std::uint32_t f : called_by(algorithm_, *at)) {
        if (f == self || has_values(f) || !found.insert(f).second) continue;
        for (const Definition &definition_of_f : function(f).definitions) open.push_back(&definition_of_f);
      }
    }
    return found;
  }

  // Those that are computed inside of the loops from number `from` on, or inside of the loops of such.
  std::set<std::uint32_t> computed_inside(const Site &site, std::size_t from) const {
    const std::set<std::uint32_t> candidates = reachable(site.definition, site.function);
    std::set<std::uint32_t> inside;
    for (bool grows = true; grows;) {
      grows = false;
      for (const std::uint32_t f : candidates) {
        if (inside.contains(f)) continue;
        const Place &place = schedules_[f].compute;
        bool here = place.level == Place::Level::innermost;
        if (place.level == Place::Level::at) {
          here = inside.contains(place.function);
          if (place.function == site.function)
            for (std::size_t i = from; i < site.nest.loops.size(); ++i)
              here = here || site.nest.loops[i].name == place.loop;
        }
        if (here) grows = inside.insert(f).second;
      }
    }
    return inside;
  }

  bool in_shared(std::uint32_t f) const { return schedules_[f].space == MemorySpace::shared; }
  // Whether the block does something together inside of these loops.
  bool meets_inside(const Site &site, std::size_t from) const {
    return std::ranges::any_of(computed_inside(site, from), [&](std::uint32_t f) { return in_shared(f); });
  }
  static bool has_type(const DefinitionSchedule &schedule, LoopType type) {
    return std::ranges::any_of(schedule.loops, [&](const Loop &loop) { return loop.type == type; }) ||
           std::ranges::any_of(schedule.specializations, [&](const auto &special) { return has_type(special, type); });
  }
  bool any_inside(const Site &site, std::size_t from, LoopType type) const {
    for (std::size_t i = from; i < site.nest.loops.size(); ++i)
      if (site.nest.loops[i].type == type) return true;
    for (const std::uint32_t f : computed_inside(site, from))
      for (const DefinitionSchedule &schedule : schedules_[f].definitions)
        if (has_type(schedule, type)) return true;
    return false;
  }

  // A box as it is computed: its bounds are known.
  Region region_of(std::uint32_t f, Box box) {
    for (Interval &dimension : box) dimension = {as_known(dimension.lower), as_known(dimension.upper)};
    Region region;
    for (std::size_t d = 0; d < box.size(); ++d) {
      if (!box[d].lower.known() || !box[d].upper.known()) {
        const auto &variable = function(f).definitions[0].pure[d];
        throw UserError(
            last_call_.contains(f) ? last_call_.at(f) : function(f).where,
            fmt::format(
                "'{0}' is called at an index whose bounds are not known, along '{1}', so that it cannot be told "
                "how much of '{0}' to compute; write clamp(index, low, high), or {0}.bound({1}, begin, extent)",
                function(f).name, variable->name));
      }
      const Affine begin = bound(box[d].lower);
      Affine extent = box[d].upper - box[d].lower + 1;
      if (!extent.known()) extent = box[d].upper - begin + 1;
      if (!extent.known()) extent = bound(box[d].upper) - begin + 1;
      if (!extent.is_constant()) extent = bound_extent(extent);
      region.push_back({begin, extent});
    }
    return region;
  }
  Affine bound_extent(const Affine &extent) {
    const auto most = at_most(extent, range());
    const Affine result = bound(extent);
    if (most)
      result.for_each_symbol([&](const Symbol &symbol) {
        if (result.is_symbol_and_constant(symbol) && result.constant() == 0)
          ranges_[symbol].upper = std::min(ranges_[symbol].upper, *most);
      });
    return result;
  }

  // The root.

  void compute_at_root() {
    Boxes boxes;
    for (std::uint32_t f = 0; f < algorithm_.functions.size(); ++f) {
      const Function &of = function(f);
      if (!of.output) continue;
      require_output(f);
      boxes[f] = box_of_output(f);
      Storage storage;
      for (std::uint32_t v = 0; v < of.types.size(); ++v) storage.arrays.push_back(*of.output + v);
      for (int d = 0; d < of.rank(); ++d) {
        storage.begin.emplace_back(0);
        storage.order.push_back(d);
      }
      storage.folds.resize(static_cast<std::size_t>(of.rank()));
      storage_.insert_or_assign(f, storage);
    }
    follow(boxes);
    require_room(boxes);
    for (const std::uint32_t f : algorithm_.order) {
      const auto needed = boxes.find(f);
      const Place::Level level = schedules_[f].compute.level;
      if (needed == boxes.end() || (level != Place::Level::root && !function(f).output)) continue;
      const Box box = function(f).output ? box_of_output(f) : *needed->second;
      where_ = function(f).where;
      const Region region = floored(f, region_of(f, box));
      if (!storage_.contains(f)) allocate_temporary(f, region);
      const int line = nest_.open_heading("produce " + function(f).name);
      compute(f, region);
      nest_.close(line);
      storage_.at(f).computed = true;
    }
  }

  // What is known to be read and written.

  // The operations that a definition's values and indices need whatever its conditions are.
  static std::vector<const Stmt *> unconditional(const Definition &definition) {
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

  // The sum of variables, each so many times: what it needs is exactly from its least to its greatest value.
  static bool is_linear(const Affine &form, const Environment &environment) {
    return form.known() && std::ranges::all_of(form.terms(), [&](const AffineTerm &term) {
             return term.kind == AffineTerm::Kind::Symbol &&
                    (term.symbol.kind != Symbol::Kind::Local || environment.contains(term.symbol.id));
           });
  }

  // Functions of which all elements in their boxes are computed. Those inside of kernels may leave some of theirs out,
  // where their indices belong together.
  std::set<std::uint32_t> computed_wholly(const Boxes &boxes) const {
    std::set<std::uint32_t> wholly;
    for (const auto &[f, box] : boxes)
      if (function(f).output || schedules_[f].compute.level == Place::Level::root ||
          schedules_[f].bounds.size() == box->size())
        wholly.insert(f);
    const auto in_parts = [&](std::uint32_t caller, const Definition &definition, std::uint32_t f) {
      const Forms forms(definition.body);
      const Environment environment = environment_of(definition, *boxes.at(caller));
      for (const Stmt &stmt : definition.body) {
        const Operation &operation = stmt.as<Let>()->value;
        const auto called = operation.op == Op::Load ? algorithm_.function_of(operation.array) : std::nullopt;
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
    for (unsigned int f : std::views::reverse(algorithm_.order)) {
      if (!boxes.contains(f) || wholly.contains(f)) continue;
      bool whole = true;
      for (const auto &[caller, box] : boxes)
        for (const Definition &definition : function(caller).definitions)
          if (caller != f && std::ranges::count(called_by(algorithm_, definition), f) != 0)
            whole = whole && wholly.contains(caller) && !in_parts(caller, definition, f);
      if (whole) wholly.insert(f);
    }
    return wholly;
  }

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

  // That arrays have the elements that definitions read and write, and Funcs those that are asked of them, wherever
  // that is known before anything runs.
  void require_room(const Boxes &boxes) {
    for (const auto &[f, box] : boxes) require_equal_outputs(f);
    for (const std::uint32_t f : computed_wholly(boxes)) {
      const Box box = function(f).output ? box_of_output(f) : *boxes.at(f);
      for (const Definition &definition : function(f).definitions)
        if (!definition.predicate) require_room_for(f, definition, environment_of(definition, box));
    }
  }

  void require_room_for(std::uint32_t f, const Definition &definition, const Environment &environment) {
    const Forms forms(definition.body);
    // By array and dimension.
    std::map<std::pair<std::uint32_t, int>, Need> reads, writes;
    const auto add = [&](std::map<std::pair<std::uint32_t, int>, Need> &needs, std::uint32_t array,
                         const std::vector<Value> &indices, SourceLocation where) {
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
      if (operation.op == Op::Load) add(reads, operation.array, operation.operands, stmt->where());
    }
    if (function(f).output && &definition != &function(f).definitions[0])
      add(writes, *function(f).output, definition.indices, definition.where);
    for (const auto &[place, need] : reads) require_need(f, place.first, place.second, need, false, environment);
    for (const auto &[place, need] : writes) require_need(f, place.first, place.second, need, true, environment);
  }

  void require_need(std::uint32_t f, std::uint32_t array, int dimension, const Need &need, bool written,
                    const Environment &environment) {
    const auto called = algorithm_.function_of(array);
    std::optional<std::uint32_t> given;  // an array of the caller's
    Affine begin = 0, extent = 0;
    if (!called) {
      given = array;
    } else if (const auto bounds = schedules_[called->function].bounds.find(dimension);
               called->function != f && bounds != schedules_[called->function].bounds.end()) {
      begin = bounds->second.first;
      extent = bounds->second.second;
    } else if (function(called->function).output) {
      given = *function(called->function).output + called->number;
    } else {
      return;
    }
    if (given) extent = Symbol::extent(*given, dimension);
    const Affine below = need.interval.lower - begin, above = need.interval.upper - begin - extent + 1;
    const bool lower_fits = at_least(below, range()).value_or(-1) >= 0;
    const bool upper_fits = at_most(above, range()).value_or(1) <= 0;
    if ((lower_fits && upper_fits) || !below.known() || !above.known()) return;

    where_ = upper_fits ? need.lower_where : need.upper_where;
    const Value lower = value_of(need.interval.lower), upper = value_of(need.interval.upper);
    const Value room = value_of(begin + extent);
    std::optional<Value> fits;
    if (!lower_fits) fits = (*this)(Op::GreaterEqual, lower, value_of(begin));
    if (!upper_fits) {
      const Value below_end = (*this)(Op::Less, upper, room);
      fits = fits ? (*this)(Op::And, *fits, below_end) : below_end;
    }
    // Who goes through nothing needs nothing.
    for (const auto &[variable, interval] : environment) {
      const Affine count = interval.upper - interval.lower + 1;
      if (!count.known() || at_least(count, range()).value_or(0) > 0) continue;
      fits = (*this)(Op::Or, *fits, (*this)(Op::LessEqual, value_of(count), number(0)));
    }
    flush_host();
    Message message;
    message.values = {lower, upper};
    if (given) {
      const std::string &name = algorithm_.parameters[*given].name;
      message.texts = {
          fmt::format("'{}' {} '{}' at indices from ", function(f).name, written ? "updates" : "reads", name), " to ",
          fmt::format(" along its dimension {}, which has ", dimension),
          fmt::format(" elements; give a larger array, or {}",
                      written  ? "go through fewer indices"
                      : called ? "ask for less"
                               : fmt::format("let a Func have values beyond its edges: repeat_edge({})", name))};
      message.values.push_back(room);
    } else {
      const std::string &name = function(called->function).name;
      const std::string &variable =
          function(called->function).definitions[0].pure[static_cast<std::size_t>(dimension)]->name;
      message.texts = {fmt::format("'{}' calls '{}' at indices from ", function(f).name, name), " to ",
                       fmt::format(" along '{0}', and {1}.bound({0}, {2}, {3}) says that no others are needed; leave "
                                   "that out, or give the bounds that are needed",
                                   variable, name, begin.constant(), extent.constant())};
    }
    steps_->push_back({Requirement{*fits, std::move(message), where_}});
  }

  // The arrays of a Func of several values have the same extents.
  void require_equal_outputs(std::uint32_t f) {
    const Function &of = function(f);
    if (!of.output) return;
    for (std::uint32_t v = 1; v < of.types.size(); ++v)
      for (int d = 0; d < of.rank(); ++d) {
        const Value first = value_of(Symbol::extent(*of.output, d)),
                    other = value_of(Symbol::extent(*of.output + v, d));
        const Value equal = (*this)(Op::Equal, first, other);
        flush_host();
        Message message;
        message.texts = {
            fmt::format("'{}' fills the arrays '{}' and '{}', which have ", of.name,
                        algorithm_.parameters[*of.output].name, algorithm_.parameters[*of.output + v].name),
            " and ", fmt::format(" elements along dimension {}; give arrays of the same extents", d)};
        message.values = {first, other};
        steps_->push_back({Requirement{equal, std::move(message), of.where}});
      }
  }

  // All of the array, whose extents are as the schedule says where it says so.
  Box box_of_output(std::uint32_t f) const {
    Box box;
    for (int d = 0; d < function(f).rank(); ++d) {
      const auto bounds = schedules_[f].bounds.find(d);
      box.push_back({0, bounds == schedules_[f].bounds.end() ? Affine(Symbol::extent(*function(f).output, d)) - 1
                                                             : Affine(bounds->second.second - 1)});
    }
    return box;
  }

  // What the schedule needs of the arrays that a function fills.
  void require_output(std::uint32_t f) {
    const Function &of = function(f);
    for (int d = 0; d < of.rank(); ++d) {
      const std::string &name = of.definitions[0].pure[static_cast<std::size_t>(d)]->name;
      const std::string array = fmt::format("array '{}' has ", algorithm_.parameters[*of.output].name);
      where_ = of.where;
      const Value given = value_of(Symbol::extent(*of.output, d));
      if (const auto bounds = schedules_[f].bounds.find(d); bounds != schedules_[f].bounds.end()) {
        const auto [begin, extent] = bounds->second;
        if (begin != 0)
          throw UserError(of.where,
                          fmt::format("the schedule of '{0}' says that '{1}' goes from {2} on; '{0}' fills an "
                                      "array, whose elements begin at 0",
                                      of.name, name, begin));
        require((*this)(Op::Equal, given, number(extent)), given,
                {fmt::format("the schedule of '{}' says that '{}' goes from 0 on for {} elements; {}", of.name, name,
                             extent, array),
                 " there; give an array of that extent, or another schedule"});
      }
      if (const std::int64_t modulus = rounded(f, static_cast<std::size_t>(d)); modulus != 1)
        require(
            (*this)(Op::Equal, (*this)(Op::Rem, given, number(modulus)), number(0)), given,
            {fmt::format("the schedule of '{}' rounds '{}' up to a multiple of {}; {}", of.name, name, modulus, array),
             " there; give an array of such an extent, or use Tail::guard"});
    }
  }

  void require(Value condition, Value value, std::vector<std::string> texts) {
    require(condition, Message{std::move(texts), {value}});
  }
  void require(Value condition, Message message) {
    flush_host();
    steps_->push_back({Requirement{condition, std::move(message), where_}});
  }

  void flush_host() {
    for (Stmt &stmt : host_) steps_->push_back({*stmt.as<Let>()});
    host_.clear();
  }

  void allocate_temporary(std::uint32_t f, const Region &region) {
    const Function &of = function(f);
    const FunctionSchedule &schedule = schedules_[f];
    if (of.rank() > maximum_rank)
      throw UserError(of.where,
                      fmt::format("'{}' has {} dimensions and is kept in device memory, which has {} at most; "
                                  "compute it at a loop of what calls it",
                                  of.name, of.rank(), maximum_rank));
    Storage storage;
    std::vector<Value> extents;
    storage.order.assign(schedule.storage_order.rbegin(), schedule.storage_order.rend());
    for (const Extent &dimension : region) storage.begin.push_back(dimension.begin);
    for (const int d : storage.order) {
      Affine extent = region[static_cast<std::size_t>(d)].extent;
      if (const auto pad = schedule.pads.find(d); pad != schedule.pads.end()) extent = extent + pad->second;
      extents.push_back((*this)(Op::Max, value_of(extent), number(0)));
    }
    if (extents.empty()) extents.push_back(number(1));
    storage.folds.resize(region.size());
    flush_host();
    for (std::uint32_t v = 0; v < of.types.size(); ++v) {
      const std::uint32_t temporary = program_.temporary_count++;
      const std::string name = of.types.size() == 1 ? of.name : fmt::format("{}_{}", of.name, v);
      storage.arrays.push_back(static_cast<std::uint32_t>(algorithm_.parameters.size()) + temporary);
      temporaries_.push_back({name, of.types[v], static_cast<int>(extents.size())});
      steps_->push_back({Temporary{temporary, name, of.types[v], extents, of.where}});
    }
    nest_.add(fmt::format("store {} in device memory: {}", of.name, dimensions_of(of, region)));
    storage_.insert_or_assign(f, std::move(storage));
  }

  // The loop nest, for a reader.

  static std::string count_of(const Affine &extent) {
    return extent.is_constant() ? std::to_string(extent.constant()) : "?";
  }
  // "f32[y 34, x ?]": what is known at launch only is "?".
  static std::string dimensions_of(const Function &of, const Region &region) {
    std::vector<std::string> all;
    for (std::size_t d = 0; d < region.size(); ++d)
      all.push_back(of.definitions[0].pure[d]->name + " " + count_of(region[d].extent));
    return fmt::format("{}[{}]", name(of.types[0]), fmt::join(all, ", "));
  }
  std::string line_of(const Site &site, const NestLoop &loop, const char *kind) const {
    const std::string range = loop.extent.is_constant() ? fmt::format(" in 0 .. {}", loop.extent.constant()) : "";
    return fmt::format("{} {}.{}{}", kind, function(site.function).name, loop.name, range);
  }
  // "f(y, …) +=": what is stored, by the names of its variables.
  std::string element_of(const Site &site) const {
    std::vector<std::string> indices;
    for (const auto &pure : site.definition.pure) indices.push_back(pure ? pure->name : "…");
    return fmt::format("{}({})", function(site.function).name, fmt::join(indices, ", "));
  }

  // Loops.

  void compute(std::uint32_t f, const Region &region) {
    for (std::size_t n = 0; n < function(f).definitions.size(); ++n) {
      if (function(f).definitions[n].undefined) continue;
      const int line = n > 0 ? nest_.open_heading(fmt::format("update {} of {}", n - 1, function(f).name)) : -1;
      define(f, n, region, {});
      nest_.close(line);
    }
  }

  static Affine in_nest(Affine form, const Nest &nest) {
    for (const auto &[variable, of] : nest.variables) form = form.substitute(Symbol::local(variable), of);
    return form;
  }

  // The variables that a definition goes through by others. Guards count as splits from number `first` on.
  void add_joined(const Definition &definition, std::size_t first, const std::set<std::size_t> &whole_pieces,
                  Nest &nest) const {
    for (const JoinedVariable &joined : definition.joined) {
      const LocalId local = joined.variable.local;
      const Extent &of = reductions_.at(local);
      nest.variables.insert_or_assign(local, of.begin + in_nest(joined.value, nest));
      nest.ranges.insert_or_assign(local, Interval{of.begin, of.begin + of.extent - 1});
      nest.guarded.insert(local);
    }
    for (std::size_t g = 0; g < definition.guards.size(); ++g) {
      const Guard &guard = definition.guards[g];
      if (whole_pieces.contains(first + g)) continue;
      const Affine &extent = guard_extents_.at(&guard);
      nest.guards.emplace_back(in_nest(guard.value, nest), extent);
      nest.pieces.push_back({first + g, in_nest(guard.outer, nest), quotient(extent, guard.factor)});
    }
  }

  Site site_of(std::uint32_t f, std::size_t n, const DefinitionSchedule &schedule, const Region &region,
               const std::set<std::size_t> &whole_pieces) {
    const Definition &definition = function(f).definitions[n];
    std::vector<Root> roots;
    for (std::size_t d = 0; d < region.size(); ++d)
      if (definition.pure[d])
        roots.push_back(
            {schedule.roots[d], definition.pure[d]->local, region[d].begin, region[d].extent, rounded(f, d)});
    for (std::size_t r = 0; r < definition.reductions.size(); ++r) {
      const Extent &of = reductions_.at(definition.reductions[r].variable.local);
      roots.push_back(
          {schedule.roots[region.size() + r], definition.reductions[r].variable.local, of.begin, of.extent});
    }
    NestNeeds needs{[this] { return new_symbol(); }, [this](Derived what) { return derived(std::move(what)); }, range(),
                    whole_pieces};
    Nest nest = nest_of(schedule, roots, needs);
    add_joined(definition, schedule.relations.size(), whole_pieces, nest);
    for (const NestLoop &loop : nest.loops) {
      Range within{0, Range::none_above};
      if (const auto most = at_most(loop.extent, range())) within.upper = std::max<std::int64_t>(*most - 1, 0);
      ranges_[loop.symbol] = within;
    }
    return Site{f, n, definition, schedule, Forms(definition.body), std::move(nest), whole_pieces};
  }

  void define(std::uint32_t f, std::size_t n, const Region &region, const std::set<std::size_t> &whole_pieces) {
    if (const DefinitionSchedule &all = schedules_[f].definitions[n]; !all.specializations.empty())
      return choose(f, n, region, DefinitionSchedule(all), 0);
    where_ = function(f).definitions[n].where;
    const DefinitionSchedule &schedule = schedules_[f].definitions[n];
    if (in_kernel_)
      for (const Loop &loop : schedule.loops)
        if (loop.type == LoopType::gpu_block)
          throw UserError(loop.where,
                          fmt::format("loop '{0}' of '{1}' is one of blocks, and '{1}' is computed inside of "
                                      "a kernel; make it one of threads, or compute '{1}' at the root",
                                      loop.name, function(f).name));
    const bool together =
        in_kernel_ && !threads_ && !lanes_ && block_fills_ && !has_type(schedule, LoopType::gpu_thread);
    if (together) {
      const DefinitionSchedule dealt = dealt_out(f, n, region);
      const Site site = site_of(f, n, dealt, region, whole_pieces);
      return loops(site, 0);
    }
    const Site site = site_of(f, n, schedule, region, whole_pieces);
    loops(site, 0);
  }

  // Specializations.

  // The specialization of number `i` where its condition holds, or else one of those behind it, or the loops of no
  // condition.
  void choose(std::uint32_t f, std::size_t n, const Region &region, const DefinitionSchedule &all, std::size_t i) {
    const auto with = [&](const DefinitionSchedule &schedule, const Region &known_region) {
      schedules_[f].definitions[n] = schedule;
      define(f, n, known_region, {});
      schedules_[f].definitions[n] = all;
    };
    if (i == all.specializations.size()) {
      DefinitionSchedule rest = all;
      rest.specializations.clear();
      return with(rest, region);
    }
    const DefinitionSchedule &special = all.specializations[i];
    where_ = function(f).definitions[n].where;
    if (threads_ && std::ranges::any_of(reachable(function(f).definitions[n], f),
                                        [&](std::uint32_t called) { return in_shared(called); }))
      throw UserError(where_, fmt::format("'{}' is specialized and computed by each thread, and what it needs is in "
                                          "shared memory, which the block fills together; specialize the Func whose "
                                          "loops are the block's",
                                          function(f).name));
    const Condition &condition = algorithm_.conditions[special.condition];
    either(
        value_of(condition),
        [&] {
          const auto fixed = fixed_;
          const auto known = known_;
          const auto reductions = reductions_;
          const auto guard_extents = guard_extents_;
          const std::string name = std::exchange(name_end_, name_end_ + fmt::format("_special{}", i));
          assume(facts_of(condition));
          Region known_region = region;
          for (Extent &extent : known_region) assume_in(extent);
          with(special, known_region);
          name_end_ = name;
          fixed_ = fixed;
          known_ = known;
          reductions_ = reductions;
          guard_extents_ = guard_extents;
        },
        [&] { choose(f, n, region, all, i + 1); });
  }

  Value value_of(const Condition &condition) {
    std::map<LocalId, Value> made;
    const auto rename = [&](const Value &value) {
      const auto found = value.is_local() ? made.find(value.id()) : made.end();
      return found == made.end() ? value : found->second;
    };
    for (const Stmt &stmt : condition.body) {
      const Let *let = stmt.as<Let>();
      Operation copy = let->value;
      for (Value &operand : copy.operands) operand = rename(operand);
      made.insert_or_assign(let->local, operation(std::move(copy)));
    }
    return rename(condition.value);
  }

  // A branch of the host, or inside of a kernel.
  void either(const Value &condition, const std::function<void()> &then, const std::function<void()> &otherwise) {
    if (in_kernel_) {
      If branch{condition, {}, {}, {}};
      into(branch.then_block, then);
      into(branch.else_block, otherwise);
      out_->emplace_back(std::move(branch), where_);
      return;
    }
    flush_host();
    HostBranch branch{condition, {}, {}};
    Steps *const before = steps_;
    const auto into_steps = [&](Steps &steps, const std::function<void()> &write) {
      const auto outer = storage_;
      steps_ = &steps;
      write();
      flush_host();
      storage_ = outer;
      steps_ = before;
    };
    into_steps(branch.then_steps, then);
    into_steps(branch.else_steps, otherwise);
    steps_->push_back({std::move(branch)});
  }

  // The integers that are known are put into all forms that are used from here on.
  void assume(const Facts &facts) {
    for (const auto &[symbol, range] : facts.ranges) {
      const Range before = this->range()(symbol);
      known_[symbol] = {std::max(range.lower, before.lower), std::min(range.upper, before.upper)};
    }
    for (const auto &[symbol, multiple] : facts.multiples) {
      const Affine count = quotient(Affine(symbol) - multiple.rest, multiple.modulus);
      const Symbol made = new_symbol();
      ranges_[made] = range_of(count, range());
      values_.insert_or_assign(made, value_of(count));
      fixed_.insert_or_assign(symbol, Affine(made) * multiple.modulus + multiple.rest);
    }
    for (const auto &[symbol, number] : facts.equal) {
      known_[symbol] = {number, number};
      fixed_.insert_or_assign(symbol, number);
    }
    for (auto &[local, extent] : reductions_) assume_in(extent);
    for (auto &[guard, extent] : guard_extents_) extent = as_known(extent);
    for (auto &[function, storage] : storage_)
      for (Affine &begin : storage.begin) begin = as_known(begin);
  }
  void assume_in(Extent &extent) const {
    extent.begin = as_known(extent.begin);
    extent.extent = as_known(extent.extent);
  }

  // The form with what is known of parameters and extents, also of those that were computed before.
  Affine as_known(const Affine &form) const {
    if ((fixed_.empty() && known_.empty()) || !form.known()) return form;
    Affine result = form;
    for (;;) {
      std::optional<Symbol> known;
      result.for_each_symbol([&](const Symbol &symbol) {
        if (!known && (fixed_.contains(symbol) || is_computed_of_known(symbol))) known = symbol;
      });
      if (!known) return result;
      const auto fixed = fixed_.find(*known);
      result = result.substitute(*known, fixed != fixed_.end() ? fixed->second : computed_.at(*known));
      if (!result.known()) return form;
    }
  }
  bool is_computed_of_known(const Symbol &symbol) const {
    const auto computed = computed_.find(symbol);
    bool of_known = false;
    if (computed != computed_.end())
      computed->second.for_each_symbol([&](const Symbol &of) {
        of_known = of_known || fixed_.contains(of) || known_.contains(of) || is_computed_of_known(of);
      });
    return of_known;
  }

  // Whether the definition loads from an array along its last dimension, as the variable goes on.
  bool goes_along_row(const Definition &definition, LocalId variable) const {
    const Forms forms(definition.body);
    const Symbol symbol = Symbol::local(variable);
    return std::ranges::any_of(definition.body, [&](const Stmt &stmt) {
      const Let *let = stmt.as<Let>();
      if (!let || let->value.op != Op::Load || algorithm_.function_of(let->value.array)) return false;
      const Affine last = forms.form(let->value.operands.back());
      return last.known() && last.coefficient(symbol) == 1;
    });
  }

  // All elements of the region, over the threads of the block.
  DefinitionSchedule dealt_out(std::uint32_t f, std::size_t n, const Region &region) const {
    const FunctionSchedule &schedule = schedules_[f];
    const Definition &definition = function(f).definitions[n];
    DefinitionSchedule dealt;
    for (const auto &pure : definition.pure) dealt.roots.push_back(pure ? pure->name : std::string());
    for (int d : std::views::reverse(schedule.storage_order))
      if (const auto &pure = definition.pure[static_cast<std::size_t>(d)])
        dealt.loops.push_back({pure->name, LoopType::gpu_thread, definition.where});
    // A few neighbours at a time, which one load may then bring (passes/pack_accesses.h).
    std::optional<Loop> neighbours;
    const auto row = region.empty() ? 0 : static_cast<std::size_t>(schedule.storage_order.front());
    if (const auto last = region.empty() ? std::nullopt : definition.pure[row];
        last && gpu_ && definition.reductions.empty() && goes_along_row(definition, last->local)) {
      const Affine &extent = region[row].extent;
      if (extent.is_constant() && extent.constant() % elements_at_once == 0 && extent.constant() > elements_at_once) {
        const std::string outer = last->name + ".unit", inner = last->name + ".element";
        dealt.relations.push_back(
            {Relation::Kind::split, last->name, outer, inner, elements_at_once, ir::Tail::automatic, definition.where});
        dealt.loops.back().name = outer;
        neighbours = Loop{inner, LoopType::unrolled, definition.where};
      }
    }
    if (neighbours) dealt.loops.push_back(*neighbours);
    for (const ReductionVariable &reduction : definition.reductions) {
      dealt.roots.push_back(reduction.variable.name);
      dealt.loops.push_back({reduction.variable.name, LoopType::serial, definition.where});
    }
    dealt.atomic = schedule.definitions[n].atomic;
    return dealt;
  }

  // The loops from number i on, and the body. All before it are open.
  void loops(const Site &site, std::size_t i) {
    const std::vector<NestLoop> &all = site.nest.loops;
    if (!in_kernel_) {
      const auto launches = [](const NestLoop &loop) {
        return loop.type == LoopType::parallel || loop.type == LoopType::gpu_block;
      };
      const bool later = std::any_of(all.begin() + static_cast<std::ptrdiff_t>(i), all.end(), launches);
      if (!later || launches(all[i])) return launch(site, i);
      return host_loop(site, i);
    }
    if (i == all.size()) {
      // What is computed for this body is no other one's, also where no loop is around it.
      const auto outer = storage_;
      produce(site, i);
      body(site);
      storage_ = outer;
      return;
    }
    const NestLoop &loop = all[i];
    LoopType type = loop.type;
    if (type == LoopType::parallel || type == LoopType::gpu_block) type = LoopType::serial;
    if (type == LoopType::vectorized && gpu_) type = threads_ ? LoopType::unrolled : LoopType::gpu_thread;
    if (type == LoopType::vectorized && lanes_) type = LoopType::serial;
    if (type == LoopType::gpu_thread && lanes_ && !threads_) type = LoopType::serial;  // of the CPU: a lane's own
    if (type == LoopType::serial && must_be_unrolled(site, loop.symbol)) type = LoopType::unrolled;
    switch (type) {
      case LoopType::gpu_thread: return thread_loops(site, i);
      case LoopType::unrolled: return unrolled_loop(site, i);
      case LoopType::vectorized: return vector_loop(site, i);
      default: break;
    }
    if (threads_ && meets_inside(site, i)) return loop_of_block(site, i);
    serial_loop(site, i);
  }

  void host_loop(const Site &site, std::size_t i) {
    const NestLoop &loop = site.nest.loops[i];
    const Value end = value_of(loop.extent);
    flush_host();
    HostLoop made{next_local_++, number(0), end, {}};
    values_.insert_or_assign(loop.symbol, Value::local(ScalarType::Int32, made.index));
    open_.push_back({loop.symbol, loop.extent, false});
    Steps *const before = std::exchange(steps_, &made.body);
    const auto outer = storage_;
    const int line = nest_.open(line_of(site, loop, "on the host, for"));
    produce(site, i + 1);
    loops(site, i + 1);
    nest_.close(line);
    flush_host();
    storage_ = outer;
    steps_ = before;
    open_.pop_back();
    steps_->push_back({std::move(made)});
  }

  // A kernel, from its loops of blocks on.
  void launch(const Site &site, std::size_t i) {
    std::size_t end = i;
    const std::vector<NestLoop> &all = site.nest.loops;
    const auto launches = [](const NestLoop &loop) {
      return loop.type == LoopType::parallel || loop.type == LoopType::gpu_block;
    };
    while (end < all.size() && launches(all[end]) && end - i < static_cast<std::size_t>(maximum_rank)) ++end;
    std::vector<Value> extents;
    for (std::size_t d = i; d < end; ++d) extents.push_back(value_of(all[d].extent));
    if (extents.empty()) extents.push_back(number(1));
    const std::vector<Nest::Piece> pieces = gpu_ ? pieces_of_launch(site, i, end) : std::vector<Nest::Piece>{};
    if (pieces.empty()) {
      flush_host();
      steps_->push_back({kernel_over(site, i, end, extents, {}, {})});
      return;
    }
    // Blocks whose pieces are whole have a kernel of their own, which needs fewer registers without the other's code.
    std::map<std::size_t, Value> whole;  // how many, by dimension
    for (const Nest::Piece &piece : pieces) {
      const std::size_t d = dimension_of(site, i, end, piece);
      const Value count = (*this)(Op::Min, (*this)(Op::Max, value_of(piece.whole), number(0)), extents[d]);
      const auto known = whole.find(d);
      if (known == whole.end())
        whole.emplace(d, count);
      else
        known->second = (*this)(Op::Min, known->second, count);
    }
    std::vector<std::vector<Value>> of_rest;  // extents: the pieces of one dimension that are not whole
    for (const auto &[rest, count] : whole) {
      std::vector<Value> over = extents;
      for (const auto &[d, count_of_d] : whole)
        if (d < rest) over[d] = count_of_d;
      over[rest] = (*this)(Op::Sub, extents[rest], count);
      of_rest.push_back(std::move(over));
    }
    flush_host();
    std::vector<Value> of_whole = extents;
    for (const auto &[d, count] : whole) of_whole[d] = count;
    steps_->push_back({kernel_over(site, i, end, of_whole, pieces, {})});
    std::map<std::size_t, LocalId> begins;
    for (const auto &[d, count] : whole) begins.emplace(d, next_local_++);
    const KernelLaunch of_pieces = kernel_over(site, i, end, extents, {}, begins);
    std::size_t next = 0;
    for (const auto &[rest, count] : whole) {
      KernelLaunch launch = of_pieces;
      launch.extents = of_rest[next++];
      for (KernelArgument &argument : launch.arguments) {
        auto *host = std::get_if<HostArgument>(&argument);
        if (!host || !host->value.is_local()) continue;
        for (const auto &[d, begin] : begins)
          if (host->value.id() == begin) host->value = d == rest ? count : number(0);
      }
      steps_->push_back({std::move(launch)});
    }
  }

  // The splits whose pieces are counted by a loop of the launch.
  std::vector<Nest::Piece> pieces_of_launch(const Site &site, std::size_t begin, std::size_t end) const {
    std::vector<Nest::Piece> found;
    if (!gains_by_whole_pieces(site, begin)) return found;
    for (const Nest::Piece &piece : site.nest.pieces)
      if (dimension_of(site, begin, end, piece) < end - begin) found.push_back(piece);
    return found;
  }
  static std::size_t dimension_of(const Site &site, std::size_t begin, std::size_t end, const Nest::Piece &piece) {
    std::size_t d = begin;
    while (d < end && !(piece.outer == Affine(site.nest.loops[d].symbol))) ++d;
    return d - begin;
  }

  // `whole`: pieces that are known to be whole. `begins`: by dimension, where the launch begins, if not at 0.
  KernelLaunch kernel_over(const Site &site, std::size_t i, std::size_t end, const std::vector<Value> &extents,
                           const std::vector<Nest::Piece> &whole, const std::map<std::size_t, LocalId> &begins) {
    const std::vector<NestLoop> &all = site.nest.loops;
    KernelLaunch made;
    made.extents = extents;
    Kernel &kernel = made.kernel;
    kernel.name = fmt::format("{}_{}", algorithm_.name, function(site.function).name);
    if (site.number > 0) kernel.name += fmt::format("_{}", site.number);
    kernel.name += name_end_;
    if (!begins.empty()) kernel.name += "_rest";
    kernel.where = function(site.function).where;
    kernel.launch_rank = static_cast<int>(made.extents.size());
    Block *const before = std::exchange(out_, &kernel.body);
    in_kernel_ = true;
    next_array_ = 0;
    block_threads_ = 1;
    block_fills_ = any_inside(site, end, LoopType::gpu_thread);
    const auto outer = storage_;
    std::optional<LoopNest::Silence> silence;
    if (!begins.empty()) silence.emplace(nest_);
    const int line = nest_.open("kernel " + kernel.name);
    const std::vector<Kept> kept_before = std::exchange(kept_, {});
    for (std::size_t d = i; d < end; ++d) nest_.open(line_of(site, all[d], gpu_ ? "gpu_block" : "parallel"));
    for (std::size_t d = i; d < end; ++d) {
      const LocalId index = next_local_++;
      out_->emplace_back(Let{index, {Op::ThreadIndex, ScalarType::Int32, {}, 0, static_cast<std::int32_t>(d - i)}},
                         where_);
      Value value = Value::local(ScalarType::Int32, index);
      if (const auto begin = begins.find(d - i); begin != begins.end())
        value = (*this)(Op::Add, value, Value::local(ScalarType::Int32, begin->second));
      values_.insert_or_assign(all[d].symbol, value);
      open_.push_back({all[d].symbol, all[d].extent, false});
    }
    const auto inside = [&](const Site &here) {
      produce_of(here, end, 0);
      loops(here, end);
    };
    const bool rest = std::exchange(in_rest_, in_rest_ || !begins.empty());
    if (whole.empty()) {
      whole_or_not(site, i, end, inside);
    } else {
      std::set<std::size_t> relations = site.whole;
      for (const Nest::Piece &piece : whole) relations.insert(piece.relation);
      whole_or_not(same_with_whole_pieces(site, relations, end), i, end, inside);
    }
    in_rest_ = rest;
    for (std::size_t d = i; d < end; ++d) open_.pop_back();
    storage_ = outer;
    in_kernel_ = false;
    out_ = before;
    kernel.block_threads = static_cast<int>(block_threads_);
    kernel.scheduled = true;
    kernel.local_count = next_local_;
    kernel.local_array_count = next_array_;
    nest_.close(line);
    order_kernel(kernel, gpu_);
    nest_.add_barriers(kernel.body);
    made.arguments = finish_kernel(kernel, algorithm_.parameters, temporaries_);
    if (gpu_) nest_.rename(line, described(kernel));
    kept_ = kept_before;
    return made;
  }

  // Whether loops inside want constant extents.
  bool gains_by_whole_pieces(const Site &site, std::size_t from) const {
    return any_inside(site, from, LoopType::gpu_thread) || any_inside(site, from, LoopType::unrolled) ||
           std::ranges::any_of(computed_inside(site, from),
                               [&](std::uint32_t f) { return schedules_[f].space == MemorySpace::registers; });
  }

  // With its threads, and where what its blocks share lies.
  std::string described(const Kernel &kernel) const {
    std::string text = fmt::format("kernel {}, {} thread{} a block", kernel.name, kernel.block_threads,
                                   kernel.block_threads == 1 ? "" : "s");
    const passes::TileMemoryPlan plan = passes::plan_tile_memory(kernel);
    std::vector<std::string> places;
    for (const Kept &kept : kept_)
      if (const passes::PlacedTile *place = plan.tile(kept.array))
        places.push_back(fmt::format("{} at {}", kept.name, place->offset));
    if (!places.empty()) text += fmt::format(", {} bytes of shared memory ({})", plan.bytes, fmt::join(places, ", "));
    return text;
  }

  // Where the pieces of this block, or of this iteration, are whole, the loops inside have constant extents and nothing
  // is guarded. Loops inside of what is written for pieces that are not whole are written once. Loops from `first` on
  // are those that are made one or the other way, those from `from` on are not open yet.
  void whole_or_not(const Site &site, std::size_t first, std::size_t from,
                    const std::function<void(const Site &)> &inside) {
    if (in_rest_) return inside(site);
    std::vector<Nest::Piece> pieces;
    for (const Nest::Piece &piece : site.nest.pieces) {
      bool known = true;
      for (std::size_t l = from; l < site.nest.loops.size(); ++l)
        known = known && !depends_on(piece.outer, [&](const Symbol &s) { return s == site.nest.loops[l].symbol; });
      if (known) pieces.push_back(piece);
    }
    if (pieces.empty() || !gains_by_whole_pieces(site, first)) return inside(site);
    std::set<std::size_t> whole = site.whole;
    std::optional<Value> all;
    for (const Nest::Piece &piece : pieces) {
      whole.insert(piece.relation);
      const Value is_whole = (*this)(Op::Less, value_of(piece.outer), value_of(piece.whole));
      all = all ? (*this)(Op::And, *all, is_whole) : is_whole;
    }
    If branch{*all, {}, {}, {}};
    const auto in_branch = [&](Block &block, const std::function<void()> &write) {
      Block *const before = std::exchange(out_, &block);
      const auto outer = storage_;
      write();
      storage_ = outer;
      out_ = before;
    };
    in_branch(branch.then_block, [&] {
      // The same loops again, of which those that are open keep their symbols.
      inside(same_with_whole_pieces(site, whole, from));
    });
    in_rest_ = true;
    {
      const LoopNest::Silence silence(nest_);
      in_branch(branch.else_block, [&] { inside(site); });
    }
    in_rest_ = false;
    out_->emplace_back(std::move(branch), where_);
  }

  Site same_with_whole_pieces(const Site &site, const std::set<std::size_t> &whole, std::size_t opened) {
    Region region;
    const Function &of = function(site.function);
    for (std::size_t d = 0; d < site.definition.indices.size(); ++d) {
      Extent extent{0, 1};
      if (site.definition.pure[d]) {
        const Interval &range = site.nest.ranges.at(site.definition.pure[d]->local);
        extent = {range.lower, range.upper - range.lower + 1};
      }
      region.push_back(extent);
    }
    (void)of;
    Site again = site_of(site.function, site.number, site.schedule, region, whole);
    for (std::size_t l = 0; l < opened; ++l) {
      const Symbol fresh = again.nest.loops[l].symbol, known = site.nest.loops[l].symbol;
      const Value value = values_.at(known);
      values_.insert_or_assign(fresh, value);
      ranges_[fresh] = ranges_[known];
      again.nest.loops[l].symbol = known;
      put(again.nest, fresh, value.is_constant() ? Affine(value.as_int()) : Affine(known));
    }
    return again;
  }

  bool must_be_unrolled(const Site &site, const Symbol &loop) const {
    const auto depends = [&](const std::vector<Value> &indices, std::uint32_t f) {
      const auto storage = storage_.find(f);
      if (storage == storage_.end() || !storage->second.local || storage->second.space != MemorySpace::registers)
        return false;
      for (std::size_t d = 0; d < indices.size(); ++d) {
        const Affine form = in_loops(site, indices[d]);
        if (!form.known() || (form - storage->second.begin[d]).contains(loop)) return true;
      }
      return false;
    };
    if (depends(site.definition.indices, site.function)) return true;
    for (const Stmt &stmt : site.definition.body) {
      const Let *let = stmt.as<Let>();
      if (let->value.op != Op::Load) continue;
      const auto called = algorithm_.function_of(let->value.array);
      if (called && depends(let->value.operands, called->function)) return true;
    }
    return false;
  }

  void serial_loop(const Site &site, std::size_t i) {
    const NestLoop &loop = site.nest.loops[i];
    // One iteration is none.
    const int line = nest_.open(line_of(site, loop, "for"));
    if (loop.extent == Affine(1)) {
      once(site, i, 0);
      return nest_.close(line);
    }
    For made = loop_over(loop.symbol, loop.extent, LoopKind::Serial);
    nest_.is_loop(line, made.index);
    into(made.body, [&] { opened(site, i); });
    nest_.close(line);
    out_->emplace_back(std::move(made), where_);
  }

  For loop_over(const Symbol &symbol, const Affine &extent, LoopKind kind) {
    const Value end = value_of(extent);
    For made{next_local_++, ScalarType::Int32, number(0), end, number(1), {}, {}};
    made.kind = kind;
    values_.insert_or_assign(symbol, Value::local(ScalarType::Int32, made.index));
    return made;
  }

  void into(Block &block, const std::function<void()> &write) {
    Block *const before = std::exchange(out_, &block);
    const auto outer = storage_;
    write();
    storage_ = outer;
    out_ = before;
  }

  void opened(const Site &site, std::size_t i) {
    const bool by_thread = threads_ && out_ != &threads_->group;
    open_.push_back({site.nest.loops[i].symbol, site.nest.loops[i].extent, false, by_thread});
    const auto inside = [&](const Site &here) {
      const Symbol symbol = here.nest.loops[i].symbol;
      Site before = here;
      put(before.nest, symbol, Affine(symbol) - 1);
      produce(here, i + 1, {.before = &before, .symbol = symbol});
      loops(here, i + 1);
    };
    if (gpu_ || lanes_)
      inside(site);
    else
      whole_or_not(site, i, i + 1, inside);
    open_.pop_back();
  }

  static void put(Nest &nest, const Symbol &symbol, const Affine &instead) {
    const auto fix = [&](Affine &form) { form = form.substitute(symbol, instead); };
    for (auto &[variable, form] : nest.variables) fix(form);
    for (NestLoop &loop : nest.loops) fix(loop.extent);
    for (auto &[value, whole] : nest.guards) {
      fix(value);
      fix(whole);
    }
    for (Nest::Piece &piece : nest.pieces) fix(piece.outer);
  }

  void once(const Site &site, std::size_t i, std::int64_t iteration) {
    const Symbol symbol = site.nest.loops[i].symbol;
    Site fixed = site, before = site;
    put(fixed.nest, symbol, iteration);
    put(before.nest, symbol, iteration - 1);
    values_.insert_or_assign(symbol, number(iteration));
    const auto outer = storage_;
    produce(fixed, i + 1, {.before = iteration > 0 ? &before : nullptr});
    loops(fixed, i + 1);
    storage_ = outer;
  }

  void unrolled_loop(const Site &site, std::size_t i) {
    const NestLoop &loop = site.nest.loops[i];
    const auto most = at_most(loop.extent, range());
    if (!most || *most > most_unrolled)
      throw UserError(loop.where,
                      fmt::format("loop '{}' of '{}' is unrolled and has {}; split it, and unroll the inner loop. A "
                                  "loop over what is in registers is unrolled, too: store_in local memory does without",
                                  loop.name, function(site.function).name,
                                  most && *most <= most_iterations
                                      ? fmt::format("{} iterations, more than {}", *most, most_unrolled)
                                      : std::string("a number of iterations that is known at launch only")));
    const bool guarded = !(loop.extent == Affine(*most));
    const int line = nest_.open(line_of(site, loop, "unrolled"));
    for (std::int64_t k = 0; k < *most; ++k) {
      std::optional<LoopNest::Silence> silence;
      if (k > 0) silence.emplace(nest_);
      if (!guarded) {
        once(site, i, k);
        continue;
      }
      If within{(*this)(Op::Less, number(k), value_of(loop.extent)), {}, {}, {}};
      into(within.then_block, [&] { once(site, i, k); });
      if (!within.then_block.empty()) out_->emplace_back(std::move(within), where_);
    }
    nest_.close(line);
  }

  // The CPU's lanes.
  void vector_loop(const Site &site, std::size_t i) {
    const NestLoop &loop = site.nest.loops[i];
    For made = loop_over(loop.symbol, loop.extent, LoopKind::Thread);
    lanes_ = true;
    const int line = nest_.open(line_of(site, loop, "vectorized"));
    into(made.body, [&] { opened(site, i); });
    nest_.close(line);
    lanes_ = false;
    out_->emplace_back(std::move(made), where_);
  }

  // Threads.

  void thread_loops(const Site &site, std::size_t i) {
    const std::vector<NestLoop> &all = site.nest.loops;
    if (threads_)
      throw UserError(all[i].where,
                      fmt::format("'{}' has loops of threads, and is computed inside of such; compute it outside of "
                                  "them, or leave its own serial",
                                  function(site.function).name));
    const bool vector = all[i].type == LoopType::vectorized;
    std::size_t end = i;
    for (std::size_t l = i; l < all.size(); ++l)
      if (all[l].type == LoopType::gpu_thread || l == i) end = l + 1;
    ThreadNest nest;
    constexpr std::int64_t most_threads = std::int64_t{1} << 31;
    std::int64_t threads = 1;
    for (std::size_t l = i; l < end; ++l) {
      if (all[l].type != LoopType::gpu_thread && !vector)
        throw UserError(all[end - 1].where,
                        fmt::format("loop '{}' of '{}' is between loops of threads; reorder them so that the loops of "
                                    "threads are directly inside of each other",
                                    all[l].name, function(site.function).name));
      const auto most = at_most(all[l].extent, range());
      if (!most || *most > most_iterations)
        throw UserError(all[l].where,
                        fmt::format("loop '{}' of '{}' is one of threads and has a number of iterations that is known "
                                    "at launch only; split it by a number of threads",
                                    all[l].name, function(site.function).name));
      nest.loops.push_back(all[l]);
      nest.lines.push_back(line_of(site, all[l], vector ? "vectorized" : "gpu_thread"));
      nest.caps.push_back(std::max<std::int64_t>(*most, 1));
      threads = nest.caps.back() > most_threads / threads ? most_threads : threads * nest.caps.back();
    }
    if (gpu_ && end - i > 1 && threads == most_threads)
      throw UserError(
          all[i].where,
          fmt::format("how many iterations the loops of threads of '{}' have is known at launch only; split them "
                      "by a number of threads",
                      function(site.function).name));
    const bool of_block = &site.schedule == &schedules_[site.function].definitions[site.number] && !vector;
    if (of_block) {
      if (threads > 1024)
        throw UserError(
            all[end - 1].where,
            fmt::format("the loops of threads of '{}' make {} threads ({}); a block has 1024 at most: split "
                        "by smaller factors",
                        function(site.function).name, threads, fmt::join(nest.caps, " x ")));
      block_threads_ = std::max(block_threads_, threads);
    }
    nest.outside = out_;
    nest.vectors = !gpu_ && any_inside(site, end, LoopType::vectorized);
    nest.number = groups_;
    nest.id = ++nests_;
    threads_ = std::move(nest);
    for (std::size_t l = i; l < end; ++l) open_.push_back({all[l].symbol, all[l].extent, true});
    lanes_ = !gpu_ && !threads_->vectors;
    const auto outer = storage_;
    begin_group();
    produce_of(site, end, i);
    loops(site, end);
    end_group();
    storage_ = outer;
    lanes_ = false;
    for (std::size_t l = i; l < end; ++l) open_.pop_back();
    out_ = threads_->outside;
    threads_.reset();
  }

  void begin_group() {
    threads_->number = ++groups_;
    threads_->group.clear();
    threads_->line = nest_.open(threads_->lines[0]);
    for (std::size_t l = 1; l < threads_->lines.size(); ++l) nest_.open(threads_->lines[l]);
    for (const NestLoop &loop : threads_->loops)
      values_.insert_or_assign(loop.symbol, Value::local(ScalarType::Int32, next_local_++));
    out_ = &threads_->group;
  }

  // Writes the loops of threads around what has been gathered.
  // What the lines inside of it were about.
  std::vector<std::string> end_group() {
    const std::vector<std::string> headings = nest_.headings(threads_->line);
    write_group();
    return headings;
  }
  void write_group() {
    Block group = std::move(threads_->group);
    threads_->group.clear();
    out_ = threads_->outside;
    if (group.empty()) return nest_.forget(threads_->line);
    nest_.close(threads_->line);
    const std::size_t count = threads_->loops.size();
    std::vector<Value> index;
    for (const NestLoop &loop : threads_->loops) index.push_back(values_.at(loop.symbol));
    if (!gpu_) {
      // The innermost loop is the vectors' lanes, unless there are vectors inside. An extent may depend on outer loops.
      const std::function<void(std::size_t)> write = [&](std::size_t l) {
        if (l == count) {
          for (Stmt &stmt : group) out_->push_back(std::move(stmt));
          return;
        }
        const Value end = value_of(threads_->loops[l].extent);
        For made{index[l].id(), ScalarType::Int32, number(0), end, number(1), {}, {}};
        if (l + 1 == count && !threads_->vectors) made.kind = LoopKind::Thread;
        Block *const around = std::exchange(out_, &made.body);
        write(l + 1);
        out_ = around;
        out_->emplace_back(std::move(made), where_);
      };
      write(0);
      return;
    }
    // One loop over all of them, the last dimension faster.
    std::int64_t all = 1;
    for (const std::int64_t cap : threads_->caps) all *= cap;
    // One loop alone goes as far as it is long.
    const bool as_it_is = count == 1 && all > 1024;
    const Value end = as_it_is ? value_of(threads_->loops[0].extent) : number(all);
    For made{next_local_++, ScalarType::Int32, number(0), end, number(1), {}, {}};
    made.kind = LoopKind::Thread;
    nest_.is_loop(threads_->line, made.index);
    const Value thread = Value::local(ScalarType::Int32, made.index);
    out_ = &made.body;
    Affine rest{Symbol::local(made.index)};
    ranges_[Symbol::local(made.index)] = {0, all - 1};
    values_.insert_or_assign(Symbol::local(made.index), thread);
    std::optional<Value> inside;
    for (std::size_t l = count; l-- > 0;) {
      const Affine here = l == 0 ? rest : remainder(rest, threads_->caps[l]);
      rest = quotient(rest, threads_->caps[l]);
      const Value value = value_of(here);
      out_->emplace_back(Let{index[l].id(), {Op::Copy, ScalarType::Int32, {value}}}, where_);
    }
    for (std::size_t l = count; l-- > 0;) {
      const NestLoop &loop = threads_->loops[l];
      if (as_it_is || loop.extent == Affine(threads_->caps[l])) continue;
      const Value within = (*this)(Op::Less, index[l], value_of(loop.extent));
      inside = inside ? (*this)(Op::And, *inside, within) : within;
    }
    if (inside) {
      If branch{*inside, std::move(group), {}, {}};
      out_->emplace_back(std::move(branch), where_);
    } else {
      for (Stmt &stmt : group) out_->push_back(std::move(stmt));
    }
    out_ = threads_->outside;
    out_->emplace_back(std::move(made), where_);
  }

  // A serial loop inside of which the block does something together: it goes through it as one.
  void loop_of_block(const Site &site, std::size_t i) {
    const NestLoop &loop = site.nest.loops[i];
    if (depends_on_threads(loop.extent))
      throw UserError(
          loop.where,
          fmt::format(
              "the threads of a block go through loop '{}' of '{}' together, because shared memory "
              "is filled in it, and its number of iterations differs between them; split it into pieces that are "
              "all whole, or compute what is in shared memory outside of it",
              loop.name, function(site.function).name));
    int first = -1;
    for (std::string &heading : end_group()) {
      const int line = nest_.open_heading(std::move(heading));
      if (first == -1) first = line;
    }
    For made = loop_over(loop.symbol, loop.extent, LoopKind::Serial);
    const int line = nest_.open(line_of(site, loop, "for"));
    nest_.is_loop(line, made.index);
    Block *const outside = std::exchange(threads_->outside, &made.body);
    const auto outer = storage_;
    const auto bound_before = bound_;
    begin_group();
    opened(site, i);
    end_group();
    nest_.close(first == -1 ? line : first);
    storage_ = outer;
    threads_->outside = outside;
    out_ = outside;
    out_->emplace_back(std::move(made), where_);
    begin_group();
  }

  // Producers.

  // Computes what is to be computed in the loop before number `from`.
  void produce(const Site &site, std::size_t from, const Earlier &earlier = {}) {
    produce_of(site, from, from == 0 ? 0 : from - 1, earlier);
  }
  // The same in any of the loops from number `first` to before number `from`.
  void produce_of(const Site &site, std::size_t from, std::size_t first, const Earlier &earlier = {}) {
    const std::vector<NestLoop> &all = site.nest.loops;
    const auto here = [&](const Place &place) {
      if (place.level == Place::Level::innermost) return from == all.size();
      if (place.level != Place::Level::at || place.function != site.function) return false;
      for (std::size_t l = first; l < from; ++l)
        if (all[l].name == place.loop) return true;
      return false;
    };
    std::vector<std::uint32_t> computed, stored;
    const std::set<std::uint32_t> candidates = reachable(site.definition, site.function);
    for (const std::uint32_t f : algorithm_.order) {
      if (!candidates.contains(f)) continue;
      const bool compute_here = here(schedules_[f].compute);
      if (compute_here) computed.push_back(f);
      if (!storage_.contains(f) && (compute_here || here(schedules_[f].store))) stored.push_back(f);
    }
    if (computed.empty() && stored.empty()) return;
    for (const std::uint32_t f : stored) {
      const bool now = std::ranges::find(computed, f) != computed.end();
      if (!now) allocate(site, f, region_here(site, from, f));
    }
    for (const std::uint32_t f : computed) {
      const SourceLocation where = std::exchange(where_, function(f).where);
      if (in_kernel_ && threads_ && shared_here(f)) {
        together(site, from, f);
      } else {
        const bool kept = storage_.contains(f);
        if (!kept && !schedules_[f].folds.empty()) check_fold(f, box_here(site, from, f));
        const Region region = floored(f, kept ? slid(site, from, f, earlier) : region_here(site, from, f));
        if (!kept) allocate(site, f, region);
        if (storage_.at(f).inside != inside_now())
          throw UserError(
              schedules_[f].store.where,
              fmt::format("'{0}' is kept outside of parallel loops, of blocks, threads or lanes, and computed "
                          "inside of them, each for itself; store '{0}' at a loop inside of these, or compute "
                          "it outside",
                          function(f).name));
        const int line = nest_.open_heading("produce " + function(f).name);
        compute(f, region);
        nest_.close(line);
      }
      // Until what is open around it ends.
      nest_.open_heading("consume " + function(f).name);
      storage_.at(f).computed = true;
      where_ = where;
    }
  }

  int inside_now() const { return in_kernel_ + lanes_ + threads_.has_value(); }

  bool shared_here(std::uint32_t f) const {
    const auto storage = storage_.find(f);
    return storage != storage_.end() ? storage->second.space == MemorySpace::shared : in_shared(f);
  }

  // What the iteration before has left in storage outside of the loop is not computed again, where the part that is
  // needed moves forwards along one dimension.
  Region slid(const Site &site, std::size_t from, std::uint32_t f, const Earlier &earlier) {
    Box box = *needed(site, from).at(f);
    check_fold(f, box);
    if (!earlier.before || function(f).definitions.size() > 1) return region_of(f, box);
    // Of what is rounded up, less may have been computed than the box says.
    for (std::size_t d = 0; d < box.size(); ++d)
      if (rounded(f, d) != 1) return region_of(f, box);
    const Boxes all_before = needed(*earlier.before, from);
    const auto found = all_before.find(f);
    if (found == all_before.end()) return region_of(f, box);
    const Box &before = *found->second;
    std::optional<std::size_t> moves;
    for (std::size_t d = 0; d < box.size(); ++d) {
      if (box[d] == before[d]) continue;
      const bool forwards = at_least(box[d].lower - before[d].lower, range()).value_or(-1) >= 0;
      if (moves || !forwards) return region_of(f, box);
      moves = d;
    }
    if (!moves) return region_of(f, box);
    Interval &dimension = box[*moves];
    const Affine next = greatest(dimension.lower, before[*moves].upper + 1);
    if (!next.known()) return region_of(f, box);
    if (!earlier.symbol) {
      dimension.lower = next;
      return region_of(f, box);
    }
    const Symbol begin = new_symbol();
    const Value first = (*this)(Op::Equal, value_of(*earlier.symbol), number(0));
    const Value slid = operation({Op::Select, ScalarType::Int32, {first, value_of(dimension.lower), value_of(next)}});
    values_.insert_or_assign(begin, slid);
    ranges_[begin] = {};
    dimension.lower = begin;
    return region_of(f, box);
  }

  // Storage that is used again and again has room for what is needed at once.
  void check_fold(std::uint32_t f, const Box &box) const {
    for (const auto &[d, period] : schedules_[f].folds) {
      const auto dimension = static_cast<std::size_t>(d);
      const auto most = at_most(box[dimension].upper - box[dimension].lower + 1, range());
      if (most && *most <= period) continue;
      throw UserError(
          schedules_[f].compute.where,
          fmt::format("the storage of '{0}' is folded along '{1}' after {2} elements, and {3} are needed at "
                      "once; fold it after {4}",
                      function(f).name, function(f).definitions[0].pure[dimension]->name, period,
                      most ? std::to_string(*most) : std::string("more, how many is known at launch only,"),
                      most ? fmt::format("{} or more", *most) : std::string("as many, or not at all")));
    }
  }

  Region region_here(const Site &site, std::size_t from, std::uint32_t f) {
    return region_of(f, box_here(site, from, f));
  }
  Box box_here(const Site &site, std::size_t from, std::uint32_t f) const {
    const Boxes boxes = needed(site, from);
    const auto found = boxes.find(f);
    internal_check(found != boxes.end(), "a function that is computed is not needed");
    return *found->second;
  }

  // The block computes f for all of its threads.
  void together(const Site &site, std::size_t from, std::uint32_t f) {
    Boxes boxes = needed(site, from);
    Box box = *boxes.at(f);
    std::vector<OpenLoop> threads;
    for (const OpenLoop &loop : open_)
      if (loop.thread) threads.push_back(loop);
    for (Interval &interval : box) interval = over_loops(interval, threads);
    end_group();
    ThreadNest nest = *std::exchange(threads_, std::nullopt);
    const bool lanes = std::exchange(lanes_, false);
    std::vector<OpenLoop> open = std::exchange(open_, {});
    for (const OpenLoop &loop : open)
      if (!loop.thread) open_.push_back(loop);
    out_ = nest.outside;
    check_fold(f, box);
    const Region region = floored(f, region_of(f, box));
    if (!storage_.contains(f)) allocate(site, f, region);
    const int line = nest_.open_heading("produce " + function(f).name);
    compute(f, region);
    nest_.close(line);
    open_ = std::move(open);
    lanes_ = lanes;
    threads_ = std::move(nest);
    begin_group();
  }

  // Room for a function inside of a kernel.
  void allocate(const Site &site, std::uint32_t f, const Region &region) {
    if (!in_kernel_) return allocate_temporary(f, region);
    const Function &of = function(f);
    const FunctionSchedule &schedule = schedules_[f];
    Storage storage;
    storage.inside = inside_now();
    storage.local = true;
    storage.folds.resize(region.size());
    // On the CPU, where the sizes are known at launch only, they are computed there.
    bool computed_size = false;
    std::vector<Affine> extents;
    for (std::size_t d = 0; d < region.size(); ++d) {
      auto most = at_most(region[d].extent, range());
      if (const auto fold = schedule.folds.find(static_cast<int>(d)); fold != schedule.folds.end()) {
        storage.folds[d] = fold->second;
        most = fold->second;
      }
      const bool unknown = !most || *most > most_elements;
      if (unknown && (gpu_ || threads_ || lanes_ || schedule.space == MemorySpace::registers))
        throw UserError(
            schedule.compute.where,
            fmt::format("how much of '{0}' is needed at once along '{1}' is known at launch only, and it is "
                        "kept inside of a kernel; split the loop that goes along '{1}', say "
                        "{0}.bound({1}, begin, extent), or compute '{0}' at the root",
                        of.name, of.definitions[0].pure[d]->name));
      computed_size = computed_size || unknown;
      extents.push_back(unknown ? greatest(region[d].extent, 0) : Affine(std::max<std::int64_t>(*most, 1)));
      storage.begin.push_back(region[d].begin);
    }
    storage.strides.resize(region.size());
    Affine all = 1;
    for (const int d : schedule.storage_order) {
      const auto dimension = static_cast<std::size_t>(d);
      storage.strides[dimension] = all;
      Affine extent = extents[dimension];
      if (const auto pad = schedule.pads.find(d); pad != schedule.pads.end()) extent = extent + pad->second;
      if (all.is_constant() && (extent * all.constant()).known())
        all = extent * all.constant();
      else if (extent.is_constant())
        all = all * extent.constant();
      else
        all = bound(derived({Op::Mul, all, extent, {}}));
      if (!all.is_constant()) all = bound(all);
    }
    const std::int64_t size = all.is_constant() ? all.constant() : most_elements;
    storage.space = space_of(f, size);
    if (storage.space == MemorySpace::shared && threads_)
      throw UserError(
          schedule.space_where,
          fmt::format("'{}' is kept by each thread, and not in shared memory; store it at a loop of blocks, or "
                      "in registers",
                      of.name));
    (void)site;
    storage.by_thread = false;
    MemorySpace space = storage.space == MemorySpace::shared ? MemorySpace::shared : MemorySpace::instance;
    std::int64_t elements = size;
    Block *to = out_;
    if (threads_) {
      storage.owner = threads_->id;
      const bool kept = keeps_across(f);
      if (kept && gpu_) {
        space = MemorySpace::thread;
        to = threads_->outside;
      } else if (kept) {
        storage.by_thread = true;
        for (const std::int64_t cap : threads_->caps) elements *= cap;
        space = MemorySpace::shared;
        to = threads_->outside;
      } else if (!gpu_ && threads_->vectors && !lanes_) {
        space = MemorySpace::shared;
      }
    } else if (!lanes_ && (!gpu_ || space == MemorySpace::instance)) {
      // Of a block, or of the CPU's loops outside of its lanes: any lane may touch any element.
      space = MemorySpace::shared;
    }
    for (const ScalarType type : of.types) {
      storage.arrays.push_back(next_array_);
      const Value count = computed_size ? value_of(all) : Value::constant(ScalarType::Int64, elements);
      if (!nest_.silent()) kept_.push_back({of.name, next_array_});
      to->emplace_back(Allocate{next_array_++, type, count, space}, of.where);
    }
    nest_.add(kept_as(f, storage, region, computed_size ? std::optional<std::int64_t>() : size));
    storage_.insert_or_assign(f, std::move(storage));
  }

  // "store f in shared memory: f32[y 8, x 32], 256 elements, 1024 bytes, pitch 32"
  std::string kept_as(std::uint32_t f, const Storage &storage, const Region &region,
                      std::optional<std::int64_t> elements) const {
    const Function &of = function(f);
    const char *memory = storage.space == MemorySpace::registers ? "registers"
                         : !gpu_                                 ? "memory of its task"
                         : storage.space == MemorySpace::shared  ? "shared memory"
                                                                 : "local memory of its thread";
    std::string text = fmt::format("store {} in {}: {}", of.name, memory, dimensions_of(of, region));
    for (std::size_t v = 1; v < of.types.size(); ++v) text += fmt::format(" and {}", name(of.types[v]));
    if (elements) {
      std::int64_t bytes = 0;
      for (const ScalarType type : of.types) bytes += *elements * static_cast<std::int64_t>(size_of(type));
      text += fmt::format(", {} element{}, {} bytes", *elements, *elements == 1 ? "" : "s", bytes);
    }
    if (region.size() > 1) {
      const Affine &pitch = storage.strides[static_cast<std::size_t>(schedules_[f].storage_order[1])];
      if (pitch.is_constant() && (!elements || pitch.constant() < *elements))
        text += fmt::format(", pitch {}", pitch.constant());
    }
    for (std::size_t d = 0; d < region.size(); ++d)
      if (storage.folds[d])
        text += fmt::format(", folded along {} after {}", of.definitions[0].pure[d]->name, *storage.folds[d]);
    return text;
  }

  MemorySpace space_of(std::uint32_t f, std::int64_t size) const {
    const FunctionSchedule &schedule = schedules_[f];
    if (schedule.space == MemorySpace::shared) return MemorySpace::shared;
    if (schedule.space == MemorySpace::device)
      throw UserError(schedule.space_where,
                      fmt::format("'{}' is computed inside of a kernel, and is to be in device memory; compute it at "
                                  "the root for that",
                                  function(f).name));
    if (schedule.space == MemorySpace::registers) {
      if (!threads_ && !lanes_ && gpu_)
        throw UserError(schedule.space_where,
                        fmt::format("'{}' is to be in registers, and is computed where the whole block needs it: "
                                    "registers are a thread's own. Compute it inside of the loops of threads, or store "
                                    "it in shared memory",
                                    function(f).name));
      return MemorySpace::registers;
    }
    if (schedule.space) return *schedule.space;
    if (!threads_ && !lanes_) return MemorySpace::shared;
    return gpu_ && size <= most_registers && constant_indices(f) ? MemorySpace::registers : MemorySpace::instance;
  }
  bool constant_indices(std::uint32_t f) const {
    // One element, or few that are read by each of their names: loops over more are the user's to unroll.
    (void)f;
    return false;
  }

  // Whether the block does something together while a thread computes or uses f.
  bool keeps_across(std::uint32_t f) const {
    for (const std::uint32_t other : algorithm_.order)
      if (in_shared(other) && other != f && !has_values(other)) return true;
    return false;
  }

  // The innermost statements.

  Affine in_loops(const Site &site, const Value &index) const {
    Affine form = site.forms.form(index);
    for (const auto &[variable, of] : site.nest.variables) form = form.substitute(Symbol::local(variable), of);
    return as_known(form);
  }

  using Made = std::map<LocalId, Value>;

  Value index_value(const Site &site, const Value &index, Made &made) {
    if (const Affine form = in_loops(site, index); form.known()) return value_of(form);
    return as_i32(evaluate(site, index, made));
  }

  Value evaluate(const Site &site, const Value &value, Made &made) {
    if (!value.is_local()) return value;
    if (const auto found = made.find(value.id()); found != made.end()) return found->second;
    Value result = value;
    if (const auto variable = site.nest.variables.find(value.id()); variable != site.nest.variables.end()) {
      result = value_of(variable->second);
    } else {
      const Operation *of = site.forms.operation(value);
      internal_check(of != nullptr, "a value of a definition is not known");
      const Affine form = in_loops(site, value);
      if (of->op == Op::Load)
        result = load(site, *of, made);
      else if (form.known() && value.type() == Type(ScalarType::Int32))
        result = value_of(form);
      else {
        Operation copy = *of;
        for (Value &operand : copy.operands) operand = evaluate(site, operand, made);
        result = operation(std::move(copy));
      }
    }
    made.insert_or_assign(value.id(), result);
    return result;
  }

  Value load(const Site &site, const Operation &of, Made &made) {
    const auto called = algorithm_.function_of(of.array);
    if (!called) {
      Operation copy = of;
      for (Value &operand : copy.operands) operand = index_value(site, operand, made);
      return operation(std::move(copy));
    }
    const auto found = storage_.find(called->function);
    if (found == storage_.end() || (!found->second.computed && called->function != site.function)) {
      const Place &place = schedules_[called->function].compute;
      throw UserError(
          place.where,
          fmt::format("'{0}' is computed at the loop '{1}' of '{2}', which is not around its call in '{3}'; "
                      "compute it at a loop of '{3}', or at one around both",
                      function(called->function).name, place.loop,
                      place.level == Place::Level::at ? function(place.function).name : "",
                      function(site.function).name));
    }
    const Storage &storage = found->second;
    if (storage.owner && (!threads_ || threads_->id != *storage.owner))
      throw UserError(
          schedules_[called->function].space ? schedules_[called->function].space_where
                                             : schedules_[called->function].compute.where,
          fmt::format("'{0}' is kept by each thread for itself, and the threads of the block compute '{1}', "
                      "which calls it, together; store '{0}' in shared memory, or '{1}' in registers",
                      function(called->function).name, function(site.function).name));
    const std::uint32_t array = storage.arrays[called->number];
    if (storage.local)
      return operation({Op::LocalLoad, of.type, {local_index(site, storage, of.operands, made)}, array});
    return operation({Op::Load, of.type, array_indices(site, storage, of.operands, made), array});
  }

  std::vector<Value> array_indices(const Site &site, const Storage &storage, const std::vector<Value> &indices,
                                   Made &made) {
    std::vector<Value> result;
    for (const int d : storage.order) {
      const auto dimension = static_cast<std::size_t>(d);
      const Affine form = in_loops(site, indices[dimension]) - storage.begin[dimension];
      if (form.known()) {
        result.push_back(value_of(form));
        continue;
      }
      const Value index = as_i32(evaluate(site, indices[dimension], made));
      result.push_back((*this)(Op::Sub, index, value_of(storage.begin[dimension])));
    }
    if (result.empty()) result.push_back(number(0));
    return result;
  }

  Value local_index(const Site &site, const Storage &storage, const std::vector<Value> &indices, Made &made) {
    Affine sum = 0;
    std::optional<Value> more;
    for (std::size_t d = 0; d < indices.size(); ++d) {
      Affine form = in_loops(site, indices[d]) - storage.begin[d];
      if (storage.folds[d]) form = remainder(in_loops(site, indices[d]), *storage.folds[d]);
      const Affine &stride = storage.strides[d];
      if (form.known() && stride.is_constant() && (sum + form * stride.constant()).known()) {
        sum = sum + form * stride.constant();
        continue;
      }
      if (form.known() && !storage.folds[d]) {
        const Value part = (*this)(Op::Mul, value_of(form), value_of(stride));
        more = more ? (*this)(Op::Add, *more, part) : part;
        continue;
      }
      Value index = as_i32(evaluate(site, indices[d], made));
      if (storage.folds[d])
        index = floored_remainder(index, *storage.folds[d]);
      else
        index = (*this)(Op::Sub, index, value_of(storage.begin[d]));
      index = (*this)(Op::Mul, index, value_of(stride));
      more = more ? (*this)(Op::Add, *more, index) : index;
    }
    if (storage.by_thread) {
      std::int64_t all = 1;
      Affine thread = 0;
      for (std::size_t l = threads_->loops.size(); l-- > 0;) {
        thread = thread + Affine(threads_->loops[l].symbol) * all;
        all *= threads_->caps[l];
      }
      sum = sum * all + thread;
      if (more) more = (*this)(Op::Mul, *more, number(all));
    }
    const Value known = value_of(sum);
    return more ? (*this)(Op::Add, *more, known) : known;
  }

  Value floored_remainder(Value value, std::int64_t by) {
    Value rest = (*this)(Op::Rem, value, number(by));
    const Value negative = (*this)(Op::Less, rest, number(0));
    return operation({Op::Select, ScalarType::Int32, {negative, (*this)(Op::Add, rest, number(by)), rest}});
  }

  void body(const Site &site) {
    // What stands outside of the threads' loops is done by each of them: one is enough, and more would update twice.
    if (gpu_ && block_fills_ && !threads_) {
      For one{next_local_++, ScalarType::Int32, number(0), number(1), number(1), {}, {}};
      one.kind = LoopKind::Thread;
      into(one.body, [&] { body_of_thread(site); });
      out_->emplace_back(std::move(one), where_);
      return;
    }
    body_of_thread(site);
  }

  void body_of_thread(const Site &site) {
    std::optional<Value> inside;
    for (const auto &[value, whole] : site.nest.guards) {
      const Value within = (*this)(Op::Less, value_of(value), value_of(whole));
      inside = inside ? (*this)(Op::And, *inside, within) : within;
    }
    const auto guarded = [&](const std::optional<Value> &condition, const std::function<void()> &write) {
      if (!condition) return write();
      If branch{*condition, {}, {}, {}};
      into(branch.then_block, write);
      out_->emplace_back(std::move(branch), where_);
    };
    guarded(inside, [&] {
      Made made;
      std::optional<Value> predicate;
      if (site.definition.predicate) predicate = evaluate(site, *site.definition.predicate, made);
      guarded(predicate, [&] { store(site, made); });
    });
  }

  void store(const Site &site, Made &made) {
    const Storage &storage = storage_.at(site.function);
    const Function &of = function(site.function);
    if (storage.local && site.schedule.meeting)
      throw UserError(site.schedule.meeting->where,
                      fmt::format("iterations of loop '{0}' update one element of '{1}' at the same time, and atomic "
                                  "updates are of device memory; compute '{1}' at the root, or keep that loop serial",
                                  site.schedule.meeting->name, of.name));
    // All values before any of them is stored: they may read each other's old ones.
    std::vector<std::pair<Op, Value>> values;  // what is added, or `Copy` of what is stored
    for (std::size_t v = 0; v < site.definition.values.size(); ++v) {
      const auto added = added_to_itself(site, v);
      if (added && !storage.local) {
        values.emplace_back(added->first, evaluate(site, added->second, made));
        continue;
      }
      if (site.schedule.atomic && site.number > 0 && !storage.local)
        throw UserError(
            site.definition.where,
            fmt::format("an update of '{0}' is atomic, and is no {0}(…) += value, min or max of itself and "
                        "a value; other updates have no atomic step: keep its loops serial, without atomic()",
                        of.name));
      values.emplace_back(Op::Copy, evaluate(site, site.definition.values[v], made));
    }
    {
      const bool atomic = site.schedule.atomic && site.number > 0 && !storage.local;
      const bool sum = !storage.local && values[0].first == Op::Add;
      nest_.add(fmt::format("{} {} …{}", element_of(site), sum ? "+=" : "=", atomic ? ", atomically" : ""));
    }
    for (std::size_t v = 0; v < values.size(); ++v) {
      const auto &[op, value] = values[v];
      const std::uint32_t array = storage.arrays[v];
      const bool atomic = site.schedule.atomic && site.number > 0;
      if (storage.local) {
        out_->emplace_back(LocalStore{array, local_index(site, storage, site.definition.indices, made), value}, where_);
      } else if (op == Op::Copy) {
        std::vector<Value> indices = array_indices(site, storage, site.definition.indices, made);
        out_->emplace_back(Store{array, std::move(indices), value}, where_);
      } else if (op == Op::Add) {
        std::vector<Value> indices = array_indices(site, storage, site.definition.indices, made);
        out_->emplace_back(Accumulate{array, std::move(indices), value, atomic}, where_);
      } else {
        std::vector<Value> operands = array_indices(site, storage, site.definition.indices, made);
        operands.push_back(value);
        operation({op, value.type(), std::move(operands), array});
      }
    }
  }

  // Of f(i) = f(i) + value: the sum and the value. Of the least and greatest of f(i) and a value, where it is atomic.
  std::optional<std::pair<Op, Value>> added_to_itself(const Site &site, std::size_t v) const {
    const Operation *of = site.forms.operation(site.definition.values[v]);
    if (!of || site.number == 0) return std::nullopt;
    const std::uint32_t own = function(site.function).array + static_cast<std::uint32_t>(v);
    const auto is_own = [&](const Value &value) {
      const Operation *load = site.forms.operation(value);
      return load && load->op == Op::Load && load->array == own && load->operands == site.definition.indices;
    };
    const bool integer = is_integer(of->type.element());
    Op op = Op::Copy;
    if (of->op == Op::Add) op = Op::Add;
    if (site.schedule.atomic && of->op == Op::Min) op = Op::AtomicMin;
    if (site.schedule.atomic && of->op == Op::Max) op = Op::AtomicMax;
    (void)integer;
    if (op == Op::Copy) return std::nullopt;
    if (is_own(of->operands[0])) return std::pair{op, of->operands[1]};
    if (is_own(of->operands[1])) return std::pair{op, of->operands[0]};
    return std::nullopt;
  }

  struct Bound {
    Affine form;
    Value value;
    int group;
  };

  // A local array of the kernel, and whose.
  struct Kept {
    std::string name;
    LocalArrayId array;
  };

  const bool gpu_;
  Algorithm algorithm_;
  std::vector<FunctionSchedule> schedules_;
  Program program_;
  LoopNest nest_;
  std::vector<Kept> kept_;
  Block host_;
  Block *out_;
  Steps *steps_;
  SourceLocation where_;
  LocalId next_local_ = 0;
  LocalArrayId next_array_ = 0;
  bool in_kernel_ = false, lanes_ = false;
  bool in_rest_ = false;      // where pieces are not whole
  bool block_fills_ = false;  // the block's threads compute together what is computed outside of their loops
  std::int64_t block_threads_ = 1;
  int groups_ = 0, nests_ = 0;
  std::optional<ThreadNest> threads_;
  std::vector<OpenLoop> open_;
  std::vector<TemporaryArray> temporaries_;
  std::map<Symbol, Value> values_;
  std::map<Symbol, Bound> bound_;
  std::map<Symbol, Derived> derived_;
  std::map<Symbol, Range> ranges_;
  std::map<LocalId, Extent> reductions_;
  std::map<const Guard *, Affine> guard_extents_;
  std::map<Symbol, Affine> computed_;  // forms whose values were computed once
  std::map<Symbol, Affine> fixed_;     // where a specialization's condition holds
  std::map<Symbol, Range> known_;
  std::string name_end_;  // of kernels of a specialization
  std::map<std::uint32_t, Storage> storage_;
  mutable std::map<std::uint32_t, SourceLocation> last_call_;
};

}  // namespace

Program lower(const CapturedPipeline &pipeline, const Choice &choice) { return Lowering(pipeline, choice).lower(); }

}  // namespace samite::schedules
