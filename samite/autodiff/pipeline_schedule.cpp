#include "samite/autodiff/pipeline_schedule.h"

#include "samite/base/error.h"
#include "samite/schedule/forms.h"
#include "samite/schedule/lower.h"
#include "samite/schedule/schedule_text.h"

#include <algorithm>
#include <map>
#include <ranges>
#include <set>

namespace samite::autodiff {
namespace {

using namespace ir;
using schedules::Algorithm;
using schedules::Definition;
using schedules::Function;
using Kind = Directive::Kind;

// Which parts of a derived schedule are used.
struct Parts {
  bool fusion = true, sums = true;
};

// A call of a Func by a definition of another one.
struct Call {
  std::uint32_t caller;
  std::uint32_t definition;
  const Operation *load;
};

class Derivation {
 public:
  Derivation(CapturedPipeline adjoint, std::int64_t rows, int lanes, Parts parts)
      : made_(std::move(adjoint)),
        algorithm_(schedules::algorithm_of(made_)),
        rows_(rows),
        lanes_(lanes),
        parts_(parts),
        calls_(algorithm_.functions.size()),
        inlined_(algorithm_.functions.size()),
        cost_(algorithm_.functions.size()),
        unbounded_(algorithm_.functions.size()),
        host_(algorithm_.functions.size()) {
    schedule_ = {CapturedSchedule::For::cpu, "cpu", {}, made_.algorithm.where};
  }

  CapturedPipeline run() {
    for (std::uint32_t f = 0; f < algorithm_.functions.size(); ++f)
      for (std::uint32_t d = 0; d < function(f).definitions.size(); ++d) find_calls(f, d);
    for (const std::uint32_t f : algorithm_.order) decide_inlined(f);
    if (parts_.fusion)
      for (const std::uint32_t f : algorithm_.order | std::views::reverse) decide_host(f);
    for (const std::uint32_t f : algorithm_.order) schedule(f);
    made_.schedules.push_back(std::move(schedule_));
    return std::move(made_);
  }

 private:
  const Function &function(std::uint32_t f) const { return algorithm_.functions[f]; }

  // Directives of a definition; each returns the derivation's own list.
  struct Stage {
    Derivation &of;
    std::uint32_t func, definition = 0;
    Stage &say(Kind kind, std::vector<std::string> names, std::vector<std::int64_t> numbers = {},
               std::optional<std::uint32_t> other = {}) {
      Directive directive{kind, func, definition, std::move(names), std::move(numbers)};
      directive.other = other;
      directive.where = of.made_.funcs[func].where;
      of.schedule_.directives.push_back(std::move(directive));
      return *this;
    }
    Stage &split(const std::string &x, const std::string &xo, const std::string &xi, std::int64_t factor) {
      return say(Kind::split, {x, xo, xi}, {factor});
    }
    Stage &parallel(const std::string &x) { return say(Kind::parallel, {x}); }
    Stage &vectorize(const std::string &x) { return say(Kind::vectorize, {x}); }
    Stage &unroll(const std::string &x) { return say(Kind::unroll, {x}); }
    Stage &reorder(std::vector<std::string> names) { return say(Kind::reorder, std::move(names)); }
    Stage &at(std::uint32_t other, const std::string &x) { return say(Kind::compute_at, {x}, {}, other); }
    Stage &root() { return say(Kind::compute_root, {}); }
    Stage &registers() {
      say(Kind::store_in, {});
      of.schedule_.directives.back().space = MemorySpace::registers;
      return *this;
    }
  };
  Stage stage(std::uint32_t func, std::uint32_t definition = 0) { return {*this, func, definition}; }

  // Analysis.
  void find_calls(std::uint32_t f, std::uint32_t d);
  void decide_inlined(std::uint32_t f);
  void decide_host(std::uint32_t f);
  bool is_sum(std::uint32_t f) const;
  bool is_product(std::uint32_t f) const;
  bool is_copy(std::uint32_t f) const;
  bool is_gather(std::uint32_t f) const;
  bool is_aligned(std::uint32_t f, const Call &call) const;
  bool slides(std::uint32_t f) const;
  std::optional<std::uint32_t> main_definition(std::uint32_t f) const;
  bool is_edge(std::uint32_t f) const;
  void add_callers(std::uint32_t f, std::set<std::pair<std::uint32_t, std::uint32_t>> &callers) const;
  std::vector<std::string> names_of(std::uint32_t f) const;
  std::vector<bool> depends_on(std::uint32_t f, std::uint32_t d, const Value &index) const;

  // Directives.
  std::uint32_t make(Kind kind, std::uint32_t f, const std::string &name, std::vector<std::uint32_t> consumers,
                     std::vector<std::string> names = {});
  void schedule(std::uint32_t f);
  void schedule_rows(std::uint32_t f);
  void schedule_sum(std::uint32_t f);
  void schedule_blocks(std::uint32_t f);
  void schedule_parts(std::uint32_t f);
  void pack_operands(std::uint32_t f, std::uint32_t blocks, const std::string &columns);
  bool leads_to_hosted(std::uint32_t f) const;
  void clone_for_edge(std::uint32_t caller, const std::set<std::uint32_t> &called);

  CapturedPipeline made_;
  Algorithm algorithm_;
  const std::int64_t rows_;
  const int lanes_;
  const Parts parts_;
  CapturedSchedule schedule_;
  std::vector<std::vector<Call>> calls_;  // by called function
  std::vector<bool> inlined_;
  std::vector<std::size_t> cost_;  // with what is inlined
  std::vector<bool> unbounded_;
  std::vector<std::optional<std::uint32_t>> host_;  // in whose strips it is computed
  std::map<std::uint32_t, std::size_t> rows_of_;    // by host: its dimension of rows
  std::set<std::uint32_t> whole_strips_;            // what is computed for a strip at a time
};

constexpr std::size_t trivial_cost = 3, cheap_cost = 16, once_cost = 256;

std::vector<std::string> Derivation::names_of(std::uint32_t f) const {
  std::vector<std::string> names;
  for (const auto &pure : function(f).definitions[0].pure) names.push_back(pure->name);
  return names;
}

void Derivation::find_calls(std::uint32_t f, std::uint32_t d) {
  const Definition &definition = function(f).definitions[d];
  const schedules::Forms forms(definition.body, algorithm_.promises);
  schedules::Environment somewhere;
  const auto variable = [&](LocalId local) {
    somewhere.insert_or_assign(local, passes::Interval::of(passes::Symbol::local(local)));
  };
  for (const auto &pure : definition.pure)
    if (pure) variable(pure->local);
  for (const schedules::ReductionVariable &reduction : definition.reductions) variable(reduction.variable.local);
  for (const Stmt &stmt : definition.body) {
    const Operation &operation = stmt.as<Let>()->value;
    const auto called = operation.op == Op::Load ? algorithm_.function_of(operation.array) : std::nullopt;
    if (!called || called->function == f) continue;
    calls_[called->function].push_back({f, d, &operation});
    for (const Value &index : operation.operands) {
      const passes::Interval interval = forms.interval(
          index, somewhere, [](const passes::Symbol &) { return passes::Range{}; },
          [&](const schedules::Derived &) { return passes::Affine(passes::Symbol::local(algorithm_.local_count)); });
      if (!interval.lower.known() || !interval.upper.known()) unbounded_[called->function] = true;
    }
  }
}

// By pure variable, then by variable of the Reduction: whether the index depends on it.
std::vector<bool> Derivation::depends_on(std::uint32_t f, std::uint32_t d, const Value &index) const {
  const Definition &definition = function(f).definitions[d];
  std::map<LocalId, const Operation *> made;
  for (const Stmt &stmt : definition.body) made.emplace(stmt.as<Let>()->local, &stmt.as<Let>()->value);
  std::set<LocalId> seen;
  std::vector<Value> open{index};
  while (!open.empty()) {
    const Value next = open.back();
    open.pop_back();
    if (!next.is_local() || !seen.insert(next.id()).second) continue;
    if (const auto found = made.find(next.id()); found != made.end())
      open.insert(open.end(), found->second->operands.begin(), found->second->operands.end());
  }
  std::vector<bool> result;
  for (const auto &pure : definition.pure) result.push_back(pure && seen.contains(pure->local));
  for (const schedules::ReductionVariable &reduction : definition.reductions)
    result.push_back(seen.contains(reduction.variable.local));
  return result;
}

// f(x, …) += …, for all elements, over a Reduction.
bool Derivation::is_sum(std::uint32_t f) const {
  const Function &of = function(f);
  if (of.output || of.definitions.size() != 2 || of.types.size() != 1 || of.inline_reduction) return false;
  const Definition &update = of.definitions[1];
  if (update.reductions.empty() || std::ranges::any_of(update.pure, [](const auto &pure) { return !pure; }))
    return false;
  const Operation *sum = nullptr;
  int own = 0;
  for (const Stmt &stmt : update.body) {
    const Let &let = *stmt.as<Let>();
    if (let.value.op == Op::Load && let.value.array == of.array) ++own;
    if (update.values[0].is_local() && let.local == update.values[0].id()) sum = &let.value;
  }
  return own == 1 && sum && sum->op == Op::Add;
}

// A sum that reads elements of some operand for several of its own.
bool Derivation::is_product(std::uint32_t f) const {
  if (!is_sum(f)) return false;
  const Definition &update = function(f).definitions[1];
  const std::size_t rank = update.pure.size();
  if (rank < 2) return true;
  return std::ranges::any_of(update.body, [&](const Stmt &stmt) {
    const Operation &load = stmt.as<Let>()->value;
    if (load.op != Op::Load || load.array == function(f).array) return false;
    std::set<std::size_t> own;
    for (const Value &index : load.operands) {
      const std::vector<bool> depends = depends_on(f, 1, index);
      for (std::size_t v = 0; v < rank; ++v)
        if (depends[v]) own.insert(v);
    }
    return own.size() < rank;
  });
}

// f(y, x) = array(y, x)
bool Derivation::is_copy(std::uint32_t f) const {
  const Definition &definition = function(f).definitions[0];
  if (definition.body.size() != 1) return false;
  const Operation &load = definition.body[0].as<Let>()->value;
  return load.op == Op::Load && load.array < made_.parameters && load.operands == definition.indices;
}

// Whether it reads at an index from an array.
bool Derivation::is_gather(std::uint32_t f) const {
  for (const Definition &definition : function(f).definitions)
    for (const Stmt &stmt : definition.body) {
      const Operation &operation = stmt.as<Let>()->value;
      if (operation.op == Op::Load && !is_floating(operation.type.element())) return true;
    }
  return false;
}

bool Derivation::is_edge(std::uint32_t f) const {
  return function(f).output && function(f).name.find("_edges") != std::string::npos;
}

// The definition whose loops run over all elements of a Func at the root.
std::optional<std::uint32_t> Derivation::main_definition(std::uint32_t f) const {
  const Function &of = function(f);
  if (of.definitions.size() == 1) return 0;
  if (!of.output || of.definitions.size() != 2 || !of.definitions[0].undefined) return std::nullopt;
  const Definition &update = of.definitions[1];
  if (!update.reductions.empty() || std::ranges::any_of(update.pure, [](const auto &pure) { return !pure; }))
    return std::nullopt;
  return 1;
}

void Derivation::decide_inlined(std::uint32_t f) {
  const Function &of = function(f);
  for (const Definition &definition : of.definitions)
    for (const Stmt &stmt : definition.body) {
      const Operation &operation = stmt.as<Let>()->value;
      if (!is_floating(operation.type.element())) continue;
      const auto called = operation.op == Op::Load ? algorithm_.function_of(operation.array) : std::nullopt;
      cost_[f] += called && inlined_[called->function] ? cost_[called->function] : 1;
    }
  if (of.definitions.size() != 1 || of.output) return;
  std::size_t count = 0;
  bool in_sum = false;
  for (const Call &call : calls_[f]) {
    if (is_edge(call.caller)) continue;
    ++count;
    const bool repeated = !function(call.caller).definitions[call.definition].reductions.empty();
    in_sum |= repeated && (!is_sum(call.caller) || is_product(call.caller));
  }
  const bool must = unbounded_[f] || of.rank() > maximum_rank || is_copy(f) || (in_sum && is_gather(f));
  const std::size_t cheap = parts_.fusion ? trivial_cost : cheap_cost;
  inlined_[f] = must || (!in_sum && (cost_[f] <= cheap || (count <= 1 && cost_[f] <= once_cost)));
}

void Derivation::add_callers(std::uint32_t f, std::set<std::pair<std::uint32_t, std::uint32_t>> &callers) const {
  for (const Call &call : calls_[f]) {
    if (is_edge(call.caller)) continue;
    if (inlined_[call.caller])
      add_callers(call.caller, callers);
    else
      callers.emplace(call.caller, call.definition);
  }
}

// Whether each index follows from the variable in the same place, counted from the last one: rows from rows.
bool Derivation::is_aligned(std::uint32_t f, const Call &call) const {
  const std::size_t rank = function(call.caller).definitions[call.definition].pure.size();
  const std::size_t own = call.load->operands.size();
  for (std::size_t d = 0; d < own; ++d) {
    const std::vector<bool> depends = depends_on(call.caller, call.definition, call.load->operands[d]);
    for (std::size_t v = 0; v < depends.size(); ++v)
      if (depends[v] && v + own != d + rank) return false;
  }
  return static_cast<std::size_t>(function(f).rank()) == own;
}

void Derivation::decide_host(std::uint32_t f) {
  const Function &of = function(f);
  if (of.output || inlined_[f] || of.definitions.size() != 1 || of.rank() < 2) return;
  std::set<std::pair<std::uint32_t, std::uint32_t>> callers;
  add_callers(f, callers);
  std::optional<std::uint32_t> host;
  for (const auto &[caller, definition] : callers) {
    const std::uint32_t own = host_[caller] ? *host_[caller] : caller;
    if (!host_[caller] && main_definition(caller) != definition) return;
    if (host && *host != own) return;
    host = own;
  }
  if (!host || function(*host).rank() < 2) return;
  for (const Call &call : calls_[f])
    if (!is_edge(call.caller) && !is_aligned(f, call)) return;
  // Rows are along the first dimension that it has.
  const auto dimension = static_cast<std::size_t>(function(*host).rank() - of.rank());
  if (of.rank() > function(*host).rank()) return;
  const auto [rows, is_new] = rows_of_.emplace(*host, dimension);
  if (!is_new && rows->second != dimension) return;
  host_[f] = host;
  if (!slides(f)) whole_strips_.insert(f);
}

// Whether the rows that are needed move on with those of the host: they are not clamped.
bool Derivation::slides(std::uint32_t f) const {
  return std::ranges::all_of(calls_[f], [&](const Call &call) {
    if (is_edge(call.caller)) return true;
    if (whole_strips_.contains(call.caller) || (inlined_[call.caller] && !slides(call.caller))) return false;
    const Definition &definition = function(call.caller).definitions[call.definition];
    const passes::Affine form = schedules::Forms(definition.body, algorithm_.promises).form(call.load->operands[0]);
    return form.known() && std::ranges::all_of(form.terms(), [](const passes::AffineTerm &term) {
             return term.kind == passes::AffineTerm::Kind::Symbol;
           });
  });
}

std::uint32_t Derivation::make(Kind kind, std::uint32_t f, const std::string &name,
                               std::vector<std::uint32_t> consumers, std::vector<std::string> names) {
  std::string own = name;
  for (int n = 1; std::ranges::find(made_.funcs, own, &Func::name) != made_.funcs.end(); ++n)
    own = name + "_" + std::to_string(n);
  Func func = schedules::func_of_schedule(made_, f, own, kind);
  const auto number = static_cast<std::uint32_t>(made_.funcs.size());
  Directive directive{kind, f, kind == Kind::rfactor ? 1u : 0u, std::move(names)};
  directive.other = number;
  directive.consumers = std::move(consumers);
  directive.where = func.where;
  schedule_.directives.push_back(std::move(directive));
  made_.funcs.push_back(std::move(func));
  return number;
}

void Derivation::schedule(std::uint32_t f) {
  const Function &of = function(f);
  if (host_[f]) {
    const std::string rows = names_of(*host_[f])[rows_of_.at(*host_[f])];
    if (whole_strips_.contains(f))
      stage(f).at(*host_[f], rows + "_strip");
    else
      stage(f).say(Kind::store_at, {rows + "_strip"}, {}, host_[f]).at(*host_[f], rows + "_row");
    stage(f).vectorize(names_of(f).back());
    return;
  }
  if (inlined_[f] || of.inline_reduction) return;
  if (rows_of_.contains(f)) return schedule_rows(f);
  if (is_edge(f)) {
    std::set<std::uint32_t> called;
    for (std::uint32_t g = 0; g < calls_.size(); ++g)
      if (std::ranges::any_of(calls_[g], [&](const Call &call) { return call.caller == f; })) called.insert(g);
    return clone_for_edge(f, called);
  }
  if (of.output) return;
  if (parts_.sums && is_product(f)) return of.rank() < 2 ? schedule_parts(f) : schedule_blocks(f);
  stage(f).root();
}

// Strips of rows are tasks, rows are in vectors.
void Derivation::schedule_rows(std::uint32_t f) {
  std::vector<std::string> names = names_of(f);
  const std::string rows = names[rows_of_.at(f)], strip = rows + "_strip", row = rows + "_row";
  Stage loops = stage(f, *main_definition(f));
  if (!function(f).output) stage(f).root();
  // Whole strips of several Funcs are to stay in the cache.
  constexpr std::int64_t most_rows = 32;
  const bool whole = std::ranges::any_of(whole_strips_, [&](std::uint32_t g) { return host_[g] == f; });
  loops.split(rows, strip, row, whole ? std::min(rows_, most_rows) : rows_);
  std::vector<std::string> order;
  for (const std::string &name : names | std::views::reverse)
    if (name != rows) order.push_back(name);
  order.insert(order.end(), {row, strip});
  loops.reorder(order).parallel(strip).vectorize(names.back());
}

bool Derivation::leads_to_hosted(std::uint32_t f) const {
  if (host_[f]) return true;
  if (!inlined_[f]) return false;
  for (std::uint32_t g = 0; g < calls_.size(); ++g)
    if (std::ranges::any_of(calls_[g], [&](const Call &call) { return call.caller == f; }) && leads_to_hosted(g))
      return true;
  return false;
}

// An edge has few elements: Funcs that are computed in strips are computed again for it.
void Derivation::clone_for_edge(std::uint32_t caller, const std::set<std::uint32_t> &called) {
  for (const std::uint32_t g : called) {
    if (!leads_to_hosted(g)) continue;
    const std::uint32_t clone = make(Kind::clone_in, g, function(g).name + "_at_edge", {caller});
    if (host_[g]) stage(clone).root();
    std::set<std::uint32_t> next;
    for (std::uint32_t h = 0; h < calls_.size(); ++h)
      if (std::ranges::any_of(calls_[h], [&](const Call &call) { return call.caller == g; })) next.insert(h);
    clone_for_edge(clone, next);
  }
}

// Few elements, each a sum over many: parts of the Reduction in parallel, which are then added.
void Derivation::schedule_parts(std::uint32_t f) {
  constexpr std::int64_t part = 1024;
  const Definition &update = function(f).definitions[1];
  std::vector<std::string> reductions;
  for (const schedules::ReductionVariable &reduction : update.reductions) reductions.push_back(reduction.variable.name);
  stage(f).root();
  std::string first = reductions[0];
  if (reductions.size() == 1) {
    stage(f, 1).split(first, first + "_part", first + "_own", part);
    reductions[0] = first + "_own";
    first += "_part";
  } else {
    reductions.erase(reductions.begin());
  }
  const std::string of_part = first + "_of";
  const std::uint32_t partial = make(Kind::rfactor, f, function(f).name + "_partial", {}, {first, of_part});
  std::vector<std::string> order = names_of(f);
  order.push_back(of_part);
  stage(partial).root().reorder(order).parallel(of_part);
  order.pop_back();
  for (const std::string &reduction : reductions | std::views::reverse) order.push_back(reduction);
  order.push_back(of_part);
  stage(partial, 1).reorder(order).parallel(of_part);
  if (!names_of(f).empty()) {
    stage(partial).vectorize(names_of(f).back());
    stage(partial, 1).vectorize(names_of(f).back());
  }
}

// Blocks of two vectors by four elements are in registers while the Reduction runs.
void Derivation::schedule_blocks(std::uint32_t f) {
  constexpr std::int64_t block_rows = 4, strip = 256;
  const std::vector<std::string> names = names_of(f);
  const Definition &update = function(f).definitions[1];
  const std::size_t columns = names.size() - 1;
  // The other dimension of a block is one along which operands without columns are in order.
  std::size_t rows = columns - 1;
  std::map<std::size_t, int> last;  // by variable: how many operands it is the last index of
  for (const Stmt &stmt : update.body) {
    const Operation &load = stmt.as<Let>()->value;
    if (load.op != Op::Load || load.array == function(f).array || load.operands.empty()) continue;
    const std::vector<bool> depends = depends_on(f, 1, load.operands.back());
    for (std::size_t v = 0; v < depends.size(); ++v) {
      if (!depends[v]) continue;
      ++last[v];
      if (v < columns) rows = v;
    }
  }
  const std::string &x = names[columns], &y = names[rows];
  const std::string xo = x + "_block", xi = x + "_lane", yo = y + "_block", yi = y + "_own", ys = y + "_strip";
  const std::uint32_t blocks = make(Kind::in, f, function(f).name + "_blocks", {});
  Stage loops = stage(blocks);
  loops.root().split(x, xo, xi, std::int64_t{lanes_ >= 16 ? 4 : 2} * lanes_);
  std::vector<std::string> order{xi, yi, yo, xo}, tasks;
  if (names.size() == 2) {
    loops.split(y, ys, yo, strip).split(yo, yo, yi, block_rows);
    tasks.push_back(ys);
  } else {
    loops.split(y, yo, yi, block_rows);
  }
  for (std::size_t d = columns; d-- > 0;)
    if (d != rows) tasks.push_back(names[d]);
  order.insert(order.end(), tasks.begin(), tasks.end());
  loops.reorder(order);
  for (const std::string &task : tasks | std::views::reverse) loops.parallel(task);
  loops.parallel(xo).vectorize(xi);

  stage(f).at(blocks, yo).registers().vectorize(x).unroll(y);
  // Variables that are the last index of more operands are further inside.
  std::vector<std::size_t> reductions;
  for (std::size_t r = 0; r < update.reductions.size(); ++r) reductions.push_back(r);
  std::ranges::stable_sort(reductions, std::greater(),
                           [&](std::size_t r) { return std::pair(last[names.size() + r], r); });
  order = {x, y};
  for (const std::size_t r : reductions) order.push_back(update.reductions[r].variable.name);
  for (std::size_t d = columns; d-- > 0;)
    if (d != rows) order.push_back(names[d]);
  stage(f, 1).reorder(order).vectorize(x).unroll(y);
  pack_operands(f, blocks, xo);
}

// Operands whose last index is not that of the lanes are copied, for a block of columns, so that lanes are neighbours.
void Derivation::pack_operands(std::uint32_t f, std::uint32_t blocks, const std::string &columns) {
  const Definition &update = function(f).definitions[1];
  const std::size_t x = names_of(f).size() - 1;
  std::set<std::uint32_t> packed;
  for (const Stmt &stmt : update.body) {
    const Operation &load = stmt.as<Let>()->value;
    const auto called = load.op == Op::Load ? algorithm_.function_of(load.array) : std::nullopt;
    if (!called || called->function == f || packed.contains(called->function)) continue;
    std::optional<std::size_t> of_lanes;
    for (std::size_t d = 0; d < load.operands.size(); ++d)
      if (depends_on(f, 1, load.operands[d])[x]) of_lanes = d;
    const std::vector<std::string> names = names_of(called->function);
    const bool is_row = of_lanes && *of_lanes + 1 == names.size();
    if (!of_lanes || (is_row && (x != 1 || update.reductions.size() != 1))) continue;
    packed.insert(called->function);
    const std::uint32_t copy = make(Kind::in, called->function, function(called->function).name + "_packed", {f});
    stage(copy).at(blocks, columns);
    if (is_row) {
      stage(copy).vectorize(names.back());
      continue;
    }
    std::vector<std::string> order{names[*of_lanes]};
    for (std::size_t d = names.size(); d-- > 0;)
      if (d != *of_lanes) order.push_back(names[d]);
    stage(copy).say(Kind::reorder_storage, order);
  }
}

// How high the strips of rows of the forward schedule are.
std::int64_t rows_of_strips(const CapturedPipeline &forward) {
  constexpr std::int64_t usual = 32;
  for (const CapturedSchedule &schedule : forward.schedules) {
    if (schedule.target != CapturedSchedule::For::cpu) continue;
    for (const Directive &split : schedule.directives) {
      if (split.kind != Kind::split || !forward.funcs[split.func].output) continue;
      for (const Directive &parallel : schedule.directives)
        if (parallel.kind == Kind::parallel && parallel.func == split.func && parallel.names[0] == split.names[1])
          return split.numbers[0];
    }
  }
  return usual;
}

// A schedule is refused if it cannot be told how much of a Func to compute in a strip, for example.
bool can_be_lowered(const CapturedPipeline &scheduled) {
  try {
    schedules::lower(scheduled, {.name = "cpu"});
    return true;
  } catch (const UserError &) {
    return false;
  }
}

}  // namespace

CapturedPipeline with_derived_schedule(const CapturedPipeline &adjoint, const CapturedPipeline &forward, int lanes) {
  const std::int64_t rows = rows_of_strips(forward);
  for (const Parts parts : {Parts{true, true}, Parts{false, true}, Parts{true, false}}) {
    CapturedPipeline scheduled = Derivation(adjoint, rows, lanes, parts).run();
    if (can_be_lowered(scheduled)) return scheduled;
  }
  return adjoint;
}

}  // namespace samite::autodiff
