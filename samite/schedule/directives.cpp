#include "samite/schedule/directives.h"

#include "samite/base/error.h"
#include "samite/schedule/scheduler.h"

#include <fmt/core.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ranges>
#include <set>
#include <span>
#include <tuple>

namespace samite::schedules {

const char *adjective_of(LoopType type) {
  switch (type) {
    case LoopType::serial: return "serial";
    case LoopType::unrolled: return "unrolled";
    case LoopType::vectorized: return "vectorized";
    case LoopType::parallel: return "parallel";
    case LoopType::gpu_block: return "one of blocks";
    case LoopType::gpu_thread: return "one of threads";
  }
  return "";
}

const Loop *DefinitionSchedule::loop(const std::string &name) const {
  const auto found = std::ranges::find(loops, name, &Loop::name);
  return found == loops.end() ? nullptr : &*found;
}

std::set<std::string> DefinitionSchedule::made_of(const std::string &loop) const {
  std::set<std::string> names{loop};
  for (const auto &relation : std::views::reverse(relations)) {
    switch (relation.kind) {
      case Relation::Kind::split:
        if (names.contains(relation.outer) || names.contains(relation.inner)) names.insert(relation.whole);
        break;
      case Relation::Kind::fuse:
        if (names.contains(relation.whole)) names.insert({relation.outer, relation.inner});
        break;
      case Relation::Kind::rename:
        if (names.contains(relation.outer)) names.insert(relation.whole);
        break;
    }
  }
  return names;
}

bool is_about_loops(DirectiveKind kind) {
  switch (kind) {
    case DirectiveKind::split:
    case DirectiveKind::fuse:
    case DirectiveKind::reorder:
    case DirectiveKind::rename:
    case DirectiveKind::serial:
    case DirectiveKind::unroll:
    case DirectiveKind::vectorize:
    case DirectiveKind::parallel:
    case DirectiveKind::gpu_block:
    case DirectiveKind::gpu_thread: return true;
    default: return false;
  }
}

DefinitionSchedule loops_of(const Algorithm &algorithm, const std::vector<ir::Directive> &directives,
                            std::uint32_t function, std::uint32_t definition) {
  Scheduler scheduler(algorithm);
  for (const ir::Directive &directive : directives)
    if (directive.func == function && directive.definition == definition && !directive.specialization &&
        is_about_loops(directive.kind))
      scheduler.apply(directive, 0);
  return scheduler.loops(function, definition);
}

namespace {

// A thread for each element on a GPU; tasks and vectors on the CPU, for the loops of `about`. A loop that the schedule
// names as a place stays serial, and so do those around it: later iterations reuse storage outside of it. Inside it,
// the CPU has vectors.
void add_default_loops(const Function &function, const ir::Directive &about, const std::set<std::string> &places,
                       bool gpu, std::vector<ir::Directive> &directives) {
  std::vector<std::string> pure;
  const Definition &definition = function.definitions[about.definition];
  for (const auto &variable : definition.pure)
    if (variable) pure.push_back(variable->name);
  if (pure.empty()) return;
  const auto is_place = [&](const std::string &loop) { return places.contains(loop); };
  const bool place_inside = is_place(pure.back()) || std::ranges::any_of(definition.reductions, is_place,
                                                                         [](const auto &r) { return r.variable.name; });
  const bool has_place = place_inside || std::ranges::any_of(pure, is_place);
  if (place_inside || (has_place && gpu)) return;
  const auto direct = [&](DirectiveKind kind, std::vector<std::string> names, std::int64_t factor = 0) {
    ir::Directive directive = about;
    directive.kind = kind;
    directive.names = std::move(names);
    directive.where = function.where;
    if (factor != 0) directive.numbers = {factor};
    directives.push_back(std::move(directive));
  };
  const std::string last = pure.back();
  const auto taken = [&](const std::string &name) {
    return std::ranges::find(pure, name) != pure.end() ||
           std::ranges::any_of(definition.reductions,
                               [&](const ReductionVariable &reduction) { return reduction.variable.name == name; });
  };
  // The names of the directives that split implicitly (lang/schedule.h).
  const auto inner_of = [&](const std::string &name) {
    std::string inner = name + "_i";
    for (int n = 2; taken(inner); ++n) inner = fmt::format("{}_i{}", name, n);
    return inner;
  };
  const std::string inner = inner_of(last);
  if (has_place) {
    direct(DirectiveKind::vectorize, {last});
  } else if (gpu) {
    // 512 elements in a block: a GPU starts about 1.6 blocks in a nanosecond, and smaller ones would be slower than
    // memory.
    std::vector<std::string> threads{inner};
    direct(DirectiveKind::split, {last, last, inner}, pure.size() > 1 ? 64 : 512);
    if (pure.size() > 1) {
      const std::string &rows = pure[pure.size() - 2];
      const std::string row = inner_of(rows);
      direct(DirectiveKind::split, {rows, rows, row}, 8);
      direct(DirectiveKind::reorder, {inner, row, last, rows});
      threads.push_back(row);
    }
    for (const std::string &variable : pure) direct(DirectiveKind::gpu_block, {variable});
    for (const std::string &thread : threads) direct(DirectiveKind::gpu_thread, {thread});
  } else if (pure.size() > 1) {
    direct(DirectiveKind::parallel, {pure.front()});
    direct(DirectiveKind::vectorize, {last});
  } else {
    direct(DirectiveKind::split, {last, last, inner}, 4096);
    direct(DirectiveKind::parallel, {last});
    direct(DirectiveKind::vectorize, {inner});
  }
}

}  // namespace

std::vector<FunctionSchedule> scheduled(const Algorithm &algorithm, const std::vector<ir::Directive> &directives,
                                        bool gpu) {
  Scheduler scheduler(algorithm);
  using Loops =
      std::tuple<std::uint32_t, std::uint32_t, std::optional<std::uint32_t>>;  // of a definition, or of a copy
  std::set<Loops> all, mentioned;
  for (std::uint32_t f = 0; f < algorithm.functions.size(); ++f)
    for (std::uint32_t d = 0; d < algorithm.functions[f].definitions.size(); ++d) all.insert({f, d, std::nullopt});
  std::set<std::uint32_t> inside;
  std::map<std::uint32_t, std::set<std::string>> places;  // loops where others are computed or stored, by function
  for (std::size_t i = 0; i < directives.size(); ++i) {
    const ir::Directive &directive = directives[i];
    scheduler.apply(directive, i);
    const Loops about{directive.func, directive.definition, directive.specialization};
    if (is_about_loops(directive.kind)) mentioned.insert(about);
    if (directive.kind == DirectiveKind::specialize) {
      const Loops copy{directive.func, directive.definition, static_cast<std::uint32_t>(i)};
      all.insert(copy);
      if (mentioned.contains(about)) mentioned.insert(copy);
    }
    if (directive.kind == DirectiveKind::compute_at) inside.insert(directive.func);
    if (directive.kind == DirectiveKind::compute_at || directive.kind == DirectiveKind::store_at)
      places[directive.other.value()].insert(directive.names.at(0));
  }
  // Functions at the root without loops from the user.
  std::vector<ir::Directive> more;
  for (const auto &[f, d, specialization] : all)
    if (!inside.contains(f) && scheduler.level(f) == Place::Level::root && !mentioned.contains({f, d, specialization}))
      add_default_loops(algorithm.functions[f],
                        {.kind = {}, .func = f, .definition = d, .specialization = specialization}, places[f], gpu,
                        more);
  for (std::size_t i = 0; i < more.size(); ++i) scheduler.apply(more[i], directives.size() + i);
  return scheduler.finish();
}

namespace {

// The facts about a function's calls that default_schedule needs.
class Calls {
 public:
  explicit Calls(const Algorithm &algorithm) : algorithm_(algorithm), of_(algorithm.functions.size()) {
    for (std::uint32_t f = 0; f < algorithm.functions.size(); ++f)
      for (const Definition &definition : algorithm.functions[f].definitions) add(f, definition);
  }

  struct Of {
    int count = 0;
    bool repeated = false;   // in a definition with a Reduction
    bool unbounded = false;  // at an index without bounds: the required region is unknown in advance
  };
  const Of &of(std::uint32_t function) const { return of_[function]; }

  // Operations for an element of a definition, including those of inlined callees.
  std::int64_t cost(const Definition &definition, const std::vector<std::int64_t> &inlined) const {
    auto cost = static_cast<std::int64_t>(definition.body.size());
    for (const ir::Stmt &stmt : definition.body)
      if (const auto called = called_by(stmt)) cost += inlined[*called];
    for (const ReductionVariable &reduction : definition.reductions)
      cost *= reduction.extent.is_constant() ? std::clamp<std::int64_t>(reduction.extent.as_int(), 1, 1000) : 100;
    return std::min<std::int64_t>(cost, 1'000'000);
  }

 private:
  std::optional<std::uint32_t> called_by(const ir::Stmt &stmt) const {
    const ir::Let *let = stmt.as<ir::Let>();
    if (!let || let->value.op != ir::Op::Load) return std::nullopt;
    const auto called = algorithm_.function_of(let->value.array);
    return called ? std::optional(called->function) : std::nullopt;
  }

  void add(std::uint32_t caller, const Definition &definition) {
    const Forms forms(definition.body, algorithm_.promises);
    Environment somewhere;
    const auto variable = [&](ir::LocalId local) {
      somewhere.insert_or_assign(local, passes::Interval::of(passes::Symbol::local(local)));
    };
    for (const auto &pure : definition.pure)
      if (pure) variable(pure->local);
    for (const ReductionVariable &reduction : definition.reductions) variable(reduction.variable.local);
    for (const ir::Stmt &stmt : definition.body) {
      const auto called = called_by(stmt);
      if (!called || *called == caller) continue;
      Of &of = of_[*called];
      ++of.count;
      of.repeated = of.repeated || !definition.reductions.empty();
      for (const ir::Value &index : stmt.as<ir::Let>()->value.operands) {
        const auto any_range = [](const passes::Symbol &) { return passes::Range{}; };
        // The host computes bounds that are no forms.
        const auto computed = [&](const Derived &) {
          return passes::Affine(passes::Symbol::local(algorithm_.local_count));
        };
        const passes::Interval interval = forms.interval(index, somewhere, any_range, computed);
        of.unbounded = of.unbounded || !interval.lower.known() || !interval.upper.known();
      }
    }
  }

  const Algorithm &algorithm_;
  std::vector<Of> of_;
};

}  // namespace

std::vector<FunctionSchedule> default_schedule(const Algorithm &algorithm, bool gpu) {
  constexpr std::int64_t cheap = 16, most = 256;
  const Calls calls(algorithm);
  std::vector<std::int64_t> inlined(algorithm.functions.size());  // the cost of a call; 0 if it is a load
  std::vector<ir::Directive> directives;
  for (const std::uint32_t f : algorithm.order) {
    const Function &function = algorithm.functions[f];
    std::int64_t cost = 0;
    for (const Definition &definition : function.definitions) cost += calls.cost(definition, inlined);
    const Calls::Of &of = calls.of(f);
    const bool can_inline = function.definitions.size() == 1 && !function.output;
    const bool must_inline = of.unbounded || function.rank() > ir::maximum_rank;
    const bool once = of.count <= 1 && !of.repeated && cost <= most;
    if (function.inline_reduction || (can_inline && (must_inline || once || cost <= cheap)))
      inlined[f] = cost;
    else
      directives.push_back({.kind = DirectiveKind::compute_root, .func = f, .where = function.where});
  }
  return scheduled(algorithm, directives, gpu);
}

}  // namespace samite::schedules
