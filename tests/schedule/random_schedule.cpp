#include "tests/schedule/random_schedule.h"

#include "samite/base/error.h"
#include "samite/schedule/lower.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <regex>
#include <utility>

namespace samite::test {
namespace {

using ir::Directive;
using ir::Tail;
using DirectiveKind = Directive::Kind;

// The numbers of the schedules' own Funcs and specializations in directives, until they have their final numbers.
constexpr std::uint32_t first_made = 1000;
bool makes_func(DirectiveKind kind) {
  return kind == DirectiveKind::in || kind == DirectiveKind::clone_in || kind == DirectiveKind::rfactor;
}

// Conditions of specializations, of a parameter and a number.
enum class Asks : std::uint8_t { less, at_least, equal, multiple };

// A Func as schedules see it.
struct Scheduled {
  std::uint32_t number;
  std::vector<std::string> dimensions;
  bool output = false;
  std::vector<std::size_t> callers{};  // in addition to those in the algorithm
};

class Scheduler {
 public:
  Scheduler(const RandomAlgorithm &algorithm, const ir::CapturedPipeline &captured, Chance &chance, bool gpu,
            Refusals &refusals, std::vector<Directive> &tried)
      : algorithm_(algorithm), captured_(captured), chance_(chance), gpu_(gpu), refusals_(refusals), tried_(tried) {
    for (const RandomFunction &function : algorithm.functions) {
      Scheduled own{.number = static_cast<std::uint32_t>(funcs_.size()), .dimensions = {}};
      for (const int v : function.variables)
        own.dimensions.push_back(RandomAlgorithm::variables[static_cast<std::size_t>(v)]);
      own.output = function.output.has_value();
      funcs_.push_back(std::move(own));
      loops_.emplace_back();
      for (const RandomDefinition &definition : function.definitions) {
        std::vector<std::string> loops;
        for (const Node &index : definition.indices)
          if (index->kind == Expression::Kind::variable)
            loops.push_back(RandomAlgorithm::variables[static_cast<std::size_t>(index->number)]);
        for (const RandomReduction &r : definition.reductions) loops.push_back(r.name);
        loops_.back().push_back(std::move(loops));
      }
    }
  }

  std::vector<Directive> schedule() {
    for (int count = chance_.percent(40) ? chance_.between(1, 3) : 0; count > 0; --count) share();
    // Callers come first, so that others are computed at their loops.
    for (std::size_t f = algorithm_.functions.size(); f-- > 0;) {
      if (!funcs_[f].output && chance_.percent(15)) stand_between(f);
      if (!funcs_[f].output) place(f);
      for (std::size_t d = 0; d < loops_[f].size(); ++d) {
        if (chance_.percent(15)) specialize(f, d);
        loops(f, d);
        if (d > 0 && chance_.percent(25)) factor_reduction(f, d);
      }
      store(f);
    }
    return accepted_;
  }

 private:
  using Loops = std::vector<std::vector<std::vector<std::string>>>;

  Directive about(DirectiveKind kind, std::size_t f, std::size_t d = 0, std::vector<std::string> names = {},
                  std::vector<std::int64_t> numbers = {}) const {
    Directive directive{.kind = kind, .func = funcs_[f].number, .definition = static_cast<std::uint32_t>(d)};
    directive.names = std::move(names);
    directive.numbers = std::move(numbers);
    return directive;
  }

  // Adds the open directives, if lowering accepts them, and keeps the loops that they leave.
  bool take() {
    if (open_.empty()) return true;
    tried_ = accepted_;
    tried_.insert(tried_.end(), open_.begin(), open_.end());
    bool taken = true;
    try {
      schedules::lower(with_schedule(captured_, tried_), {gpu_, "random"});
      accepted_ = tried_;
      loops_ = next_;
      specials_ = specials_open_;
    } catch (const UserError &error) {
      ++refusals_[without_names(error.what())];
      taken = false;
    }
    open_.clear();
    return taken;
  }
  void begin() {
    open_.clear();
    next_ = loops_;
    specials_open_ = specials_;
  }

  std::string new_name(const std::string &of) { return fmt::format("{}{}", of.substr(0, 1), names_++); }

  int factor() {
    static const std::vector<int> factors{1, 2, 2, 3, 4, 4, 5, 6, 7, 8, 8, 9, 16, 32},
        large{1 << 20, 1 << 30, std::numeric_limits<std::int32_t>::max()};
    if (chance_.percent(3)) return chance_.one_of(large);
    return chance_.one_of(factors);
  }
  Tail tail() {
    static const std::vector<Tail> tails{Tail::automatic,       Tail::automatic,        Tail::guard,
                                         Tail::shift_inwards,   Tail::round_up,         Tail::predicate,
                                         Tail::predicate_loads, Tail::predicate_stores, Tail::shift_inwards_and_blend};
    return chance_.one_of(tails);
  }

  void place(std::size_t f) {
    begin();
    const int kind = chance_.below(10);
    if (kind < 2) {
      open_.push_back(about(DirectiveKind::compute_root, f));
    } else if (kind < 3) {
      open_.push_back(about(DirectiveKind::compute_inline, f));
    } else if (kind < 9) {
      // At a loop of one of its callers, or of their callers.
      std::vector<std::size_t> callers;
      for (std::size_t g = f < algorithm_.functions.size() ? f + 1 : 0; g < algorithm_.functions.size(); ++g)
        if (calls(g, f) || chance_.percent(15)) callers.push_back(g);
      for (int times = 0; times < 3; ++times) std::ranges::copy(funcs_[f].callers, std::back_inserter(callers));
      if (callers.empty()) return;
      const std::size_t g = chance_.one_of(callers);
      const auto &definition = chance_.one_of(loops_[g]);
      if (definition.empty()) return;
      const int at = chance_.below(static_cast<int>(definition.size()));
      open_.push_back(about(DirectiveKind::compute_at, f, 0, {definition[static_cast<std::size_t>(at)]}));
      open_.back().other = funcs_[g].number;
      if (chance_.percent(25)) {
        if (chance_.percent(30)) {
          open_.push_back(about(DirectiveKind::store_root, f));
        } else {
          open_.push_back(
              about(DirectiveKind::store_at, f, 0, {definition[static_cast<std::size_t>(chance_.below(at + 1))]}));
          open_.back().other = funcs_[g].number;
        }
      }
      if (chance_.percent(gpu_ ? 50 : 25)) {
        using ir::MemorySpace;
        static const std::vector<MemorySpace> spaces{MemorySpace::registers, MemorySpace::instance, MemorySpace::shared,
                                                     MemorySpace::shared, MemorySpace::device};
        open_.push_back(about(DirectiveKind::store_in, f));
        open_.back().space = chance_.one_of(spaces);
      }
    }
    take();
  }
  bool calls(std::size_t g, std::size_t f) const {
    if (f >= algorithm_.functions.size()) return false;
    const std::function<bool(const Node &)> in = [&](const Node &node) {
      if (node->kind == Expression::Kind::call && node->number == static_cast<std::int64_t>(f)) return true;
      return std::ranges::any_of(node->operands, in);
    };
    for (const RandomDefinition &definition : algorithm_.functions[g].definitions)
      if (std::ranges::any_of(definition.indices, in) || std::ranges::any_of(definition.values, in) ||
          (definition.predicate && in(definition.predicate)))
        return true;
    return false;
  }

  void loops(std::size_t f, std::size_t d) {
    if (loops_[f][d].empty()) return;
    if (chance_.percent(45)) {
      begin();
      whole(f, d);
      take();
    }
    for (int count = chance_.below(5); count > 0; --count) {
      begin();
      one(f, d);
      take();
    }
  }

  // A Func of the schedule's own, for a directive that is taken with it.
  std::size_t add_func(Scheduled own, std::vector<std::vector<std::string>> loops_of_own) {
    own.number = first_made + made_++;
    funcs_.push_back(std::move(own));
    loops_.push_back(loops_of_own);
    next_.push_back(std::move(loops_of_own));
    return funcs_.size() - 1;
  }
  bool take_with_func() {
    if (take()) return true;
    funcs_.pop_back();
    loops_.pop_back();
    return false;
  }
  void schedule_made(std::size_t f) {
    place(f);
    for (std::size_t d = 0; d < loops_[f].size(); ++d) loops(f, d);
    store(f);
  }

  // A Func between f and those that call it, or one of them.
  void stand_between(std::size_t f) {
    std::vector<std::size_t> callers;
    for (std::size_t g = f + 1; g < algorithm_.functions.size(); ++g)
      if (calls(g, f)) callers.push_back(g);
    if (callers.empty()) return;
    begin();
    const bool clone = chance_.percent(40);
    Directive between = about(clone ? DirectiveKind::clone_in : DirectiveKind::in, f);
    if (clone || chance_.percent(40)) {
      callers = {chance_.one_of(callers)};
      between.consumers = {static_cast<std::uint32_t>(callers[0])};
    }
    Scheduled own{.number = 0, .dimensions = funcs_[f].dimensions, .output = false, .callers = callers};
    auto loops_of_own = clone ? loops_[f] : std::vector<std::vector<std::string>>{own.dimensions};
    const std::size_t made = add_func(std::move(own), std::move(loops_of_own));
    between.other = funcs_[made].number;
    open_.push_back(std::move(between));
    if (!take_with_func()) return;
    if (!clone) funcs_[f].callers.push_back(made);
    schedule_made(made);
  }

  // The update's reduction in two steps, by one of its loops.
  void factor_reduction(std::size_t f, std::size_t d) {
    std::vector<std::string> reduced, kept, of_partial;
    for (const std::string &loop : loops_[f][d])
      (std::ranges::find(funcs_[f].dimensions, loop) == funcs_[f].dimensions.end() && !is_variable(loop) ? reduced
                                                                                                         : kept)
          .push_back(loop);
    if (reduced.empty()) return;
    begin();
    const std::string loop = chance_.one_of(reduced), variable = new_name("u");
    Directive directive = about(DirectiveKind::rfactor, f, d, {loop, variable});
    Scheduled own{.number = 0, .dimensions = funcs_[f].dimensions, .output = false, .callers = {f, f}};
    own.dimensions.push_back(variable);
    std::vector<std::string> in_f, in_partial;
    for (const std::string &each : loops_[f][d]) {
      const bool goes = std::ranges::find(reduced, each) != reduced.end();
      if (!goes || each == loop) in_f.push_back(each);
      in_partial.push_back(each == loop ? variable : each);
    }
    std::vector<std::vector<std::string>> loops_of_own{own.dimensions, in_partial};
    const std::size_t made = add_func(std::move(own), std::move(loops_of_own));
    next_[f][d] = in_f;
    directive.other = funcs_[made].number;
    open_.push_back(std::move(directive));
    if (take_with_func()) schedule_made(made);
  }
  // Whether a loop consists of only a variable: names of pieces begin like their variables.
  static bool is_variable(const std::string &loop) { return loop[0] >= 'x' && loop[0] <= 'z'; }

  // Separate loops for a condition.
  void specialize(std::size_t f, std::size_t d) {
    begin();
    Directive special = about(DirectiveKind::specialize, f, d);
    const auto parameter = static_cast<std::size_t>(chance_.below(static_cast<int>(algorithm_.parameters.size())));
    const RandomArgument &argument = algorithm_.arguments[parameter];
    const int rank = algorithm_.parameters[parameter].rank;
    const int dimension = rank == 0 ? 0 : chance_.below(rank);
    const std::int64_t number = rank == 0 ? argument.values[0] : argument.extents[static_cast<std::size_t>(dimension)];
    const auto asks = static_cast<Asks>(chance_.below(4));
    const std::int64_t other = asks == Asks::multiple ? chance_.between(2, 8) : number + chance_.between(-1, 1);
    const auto name = static_cast<std::int64_t>(specials_open_++);
    special.numbers = {name, static_cast<std::int64_t>(parameter), dimension, static_cast<std::int64_t>(asks), other};
    const auto before = next_;
    std::vector<Directive> own;
    if (!loops_[f][d].empty()) {
      if (chance_.percent(60))
        whole(f, d);
      else
        one(f, d);
      own = std::exchange(open_, {});
      next_ = before;
    }
    open_.push_back(std::move(special));
    for (Directive &directive : own) {
      directive.specialization = static_cast<std::uint32_t>(name);
      open_.push_back(std::move(directive));
    }
    take();
  }

  // Two definitions with equal loops, which they share.
  void share() {
    using Of = std::pair<std::size_t, std::size_t>;
    std::vector<std::pair<Of, Of>> alike;
    for (std::size_t f = 0; f < loops_.size(); ++f)
      for (std::size_t d = 0; d < loops_[f].size(); ++d)
        for (std::size_t g = 0; g < loops_.size(); ++g)
          for (std::size_t e = 0; e < loops_[g].size(); ++e)
            if (f != g && !loops_[f][d].empty() && !loops_[g][e].empty() &&
                loops_[f][d].front() == loops_[g][e].front() && (loops_[f][d] == loops_[g][e] || chance_.percent(30)))
              alike.push_back({{f, d}, {g, e}});
    if (alike.empty()) return;
    const auto [leader, follower] = chance_.one_of(alike);
    const auto [f, d] = leader;
    const auto [g, e] = follower;
    begin();
    if (loops_[f][d] == loops_[g][e] && chance_.percent(70)) {
      whole(f, d);
      for (Directive directive : std::vector<Directive>(open_)) {
        directive.func = funcs_[g].number;
        directive.definition = static_cast<std::uint32_t>(e);
        open_.push_back(directive);
      }
      next_[g][e] = next_[f][d];
    }
    share_place(f, g);
    const auto &loops = next_[f][d];
    const auto last = chance_.percent(40) ? 0 : static_cast<std::size_t>(chance_.below(static_cast<int>(loops.size())));
    open_.push_back(about(DirectiveKind::compute_with, g, e, {loops[last]}));
    open_.back().other = funcs_[f].number;
    open_.back().other_definition = static_cast<std::uint32_t>(d);
    take();
  }
  void share_place(std::size_t f, std::size_t g) {
    std::vector<std::pair<std::size_t, std::string>> places;
    for (std::size_t h = std::max(f, g) + 1; h < algorithm_.functions.size(); ++h)
      for (const auto &definition : loops_[h])
        for (const std::string &loop : definition) places.emplace_back(h, loop);
    const bool outputs = algorithm_.functions[f].output || algorithm_.functions[g].output;
    const bool root = places.empty() || outputs || chance_.percent(50);
    const auto place = root ? std::pair<std::size_t, std::string>() : chance_.one_of(places);
    for (const std::size_t of : {f, g}) {
      if (algorithm_.functions[of].output) continue;
      open_.push_back(root ? about(DirectiveKind::compute_root, of)
                           : about(DirectiveKind::compute_at, of, 0, {place.second}));
      if (!root) open_.back().other = funcs_[place.first].number;
    }
  }

  void split(std::size_t f, std::size_t d, const std::string &loop, const std::string &outer, const std::string &inner,
             int by, Tail with) {
    constexpr int most_rounded = 1000;  // otherwise the results would need too much memory
    if (by > most_rounded &&
        (with == Tail::round_up || with == Tail::predicate_loads || with == Tail::predicate_stores))
      with = Tail::guard;
    open_.push_back(about(DirectiveKind::split, f, d, {loop, outer, inner}, {by}));
    open_.back().tail = with;
    auto &loops = next_[f][d];
    const auto at = std::ranges::find(loops, loop);
    *at = outer;
    loops.insert(at + 1, inner);
  }
  void reorder(std::size_t f, std::size_t d, const std::vector<std::string> &outermost_first) {
    open_.push_back(about(DirectiveKind::reorder, f, d, {outermost_first.rbegin(), outermost_first.rend()}));
    next_[f][d] = outermost_first;
  }
  void atomic(std::size_t f, std::size_t d, int percent) {
    if (d > 0 && chance_.percent(percent)) open_.push_back(about(DirectiveKind::atomic, f, d));
  }

  // A common kind of schedule: tiles, of blocks and threads or of tasks and vectors.
  void whole(std::size_t f, std::size_t d) {
    const std::vector<std::string> before = loops_[f][d];
    std::vector<std::string> outer, inner, serial;
    for (const std::string &loop : before) {
      if (chance_.percent(70)) {
        const std::string o = new_name(loop), i = new_name(loop);
        split(f, d, loop, o, i, factor(), tail());
        outer.push_back(o);
        inner.push_back(i);
      } else if (chance_.percent(70)) {
        serial.push_back(loop);
      } else {
        outer.push_back(loop);
      }
    }
    std::vector<std::string> order = outer;
    const bool between = chance_.percent(40);
    if (between) order.insert(order.end(), serial.begin(), serial.end());
    order.insert(order.end(), inner.begin(), inner.end());
    if (!between) order.insert(order.end(), serial.begin(), serial.end());
    if (order.size() > 1) reorder(f, d, order);
    const bool of_gpu = chance_.percent(gpu_ ? 90 : 25);
    for (const std::string &loop : outer)
      if (chance_.percent(80))
        open_.push_back(about(of_gpu ? DirectiveKind::gpu_block : DirectiveKind::parallel, f, d, {loop}));
    if (of_gpu) {
      for (const std::string &loop : inner)
        if (chance_.percent(85)) open_.push_back(about(DirectiveKind::gpu_thread, f, d, {loop}));
    } else if (!order.empty()) {
      if (chance_.percent(60)) open_.push_back(about(DirectiveKind::vectorize, f, d, {order.back()}));
      if (chance_.percent(25)) open_.push_back(about(DirectiveKind::unroll, f, d, {chance_.one_of(order)}));
    }
    atomic(f, d, 30);
  }

  void one(std::size_t f, std::size_t d) {
    const auto &loops = loops_[f][d];
    const std::string loop = chance_.one_of(loops);
    switch (chance_.below(12)) {
      case 0:
      case 1:
      case 2: {
        const std::string inner = new_name(loop);
        const std::string outer = chance_.percent(30) ? loop : new_name(loop);
        split(f, d, loop, outer, inner, factor(), tail());
        break;
      }
      case 3:
        if (loops.size() > 1) {
          const auto at = static_cast<std::size_t>(chance_.below(static_cast<int>(loops.size()) - 1));
          const std::string fused = new_name("f");
          open_.push_back(about(DirectiveKind::fuse, f, d, {loops[at], loops[at + 1], fused}));
          auto &next = next_[f][d];
          next[at] = fused;
          next.erase(next.begin() + static_cast<std::ptrdiff_t>(at) + 1);
        }
        break;
      case 4:
      case 5: {
        std::vector<std::string> order = loops;
        for (std::size_t i = order.size(); i-- > 1;)
          std::swap(order[i], order[static_cast<std::size_t>(chance_.below(static_cast<int>(i) + 1))]);
        if (order.size() > 1) reorder(f, d, order);
        break;
      }
      case 6: open_.push_back(about(DirectiveKind::unroll, f, d, {loop})); break;
      case 7:
        open_.push_back(about(DirectiveKind::vectorize, f, d, {chance_.percent(70) ? loops.back() : loop}));
        atomic(f, d, 20);
        break;
      case 8:
        open_.push_back(about(gpu_ && chance_.percent(80) ? DirectiveKind::gpu_block : DirectiveKind::parallel, f, d,
                              {chance_.percent(70) ? loops.front() : loop}));
        atomic(f, d, 20);
        break;
      case 9:
        open_.push_back(about(gpu_ || chance_.percent(20) ? DirectiveKind::gpu_thread : DirectiveKind::serial, f, d,
                              {chance_.percent(70) ? loops.back() : loop}));
        atomic(f, d, 20);
        break;
      case 10: {
        const std::string name = new_name(loop);
        open_.push_back(about(DirectiveKind::rename, f, d, {loop, name}));
        *std::ranges::find(next_[f][d], loop) = name;
        break;
      }
      case 11:
        if (d > 0) open_.push_back(about(DirectiveKind::atomic, f, d));
        break;
    }
  }

  void store(std::size_t f) {
    const std::size_t rank = funcs_[f].dimensions.size();
    const auto dimension = [&](std::size_t d) { return funcs_[f].dimensions[d]; };
    const auto any = [&] { return static_cast<std::size_t>(chance_.below(static_cast<int>(rank))); };
    if (rank == 0) return;
    if (chance_.percent(12)) {
      begin();
      std::vector<std::string> order;
      for (std::size_t d = 0; d < rank; ++d) order.push_back(dimension(d));
      for (std::size_t i = order.size(); i-- > 1;)
        std::swap(order[i], order[static_cast<std::size_t>(chance_.below(static_cast<int>(i) + 1))]);
      open_.push_back(about(DirectiveKind::reorder_storage, f, 0, order));
      take();
    }
    if (chance_.percent(12)) {
      begin();
      open_.push_back(about(DirectiveKind::pad, f, 0, {dimension(any())}, {chance_.between(0, 3)}));
      take();
    }
    if (chance_.percent(12)) {
      begin();
      open_.push_back(about(DirectiveKind::fold_storage, f, 0, {dimension(any())}, {chance_.between(1, 16)}));
      take();
    }
    if (chance_.percent(12)) {
      begin();
      open_.push_back(about(DirectiveKind::align_bounds, f, 0, {dimension(any())}, {chance_.between(1, 8)}));
      take();
    }
    if (chance_.percent(gpu_ ? 40 : 10)) {
      begin();
      open_.push_back(about(DirectiveKind::pipelined, f, 0, {}, {chance_.between(1, 4)}));
      take();
    }
    if (chance_.percent(30) && f < algorithm_.functions.size()) {
      const RandomFunction &function = algorithm_.functions[f];
      begin();
      const std::size_t d = any();
      if (function.output) {
        const std::int64_t extent = algorithm_.arguments[*function.output].extents[d];
        open_.push_back(about(DirectiveKind::bound, f, 0, {dimension(d)}, {0, extent}));
      } else if (function.called[d] && function.definitions.size() == 1) {
        const auto [low, high] = *function.called[d];
        const int more = chance_.below(3);
        open_.push_back(about(DirectiveKind::bound, f, 0, {dimension(d)}, {low - more, high - low + 1 + 2 * more}));
      }
      take();
    }
  }

  const RandomAlgorithm &algorithm_;
  const ir::CapturedPipeline &captured_;
  Chance &chance_;
  const bool gpu_;
  Refusals &refusals_;
  std::vector<Directive> &tried_;
  std::vector<Directive> accepted_, open_;
  std::vector<Scheduled> funcs_;
  Loops loops_, next_;
  int names_ = 0;
  std::uint32_t made_ = 0;
  int specials_ = 0, specials_open_ = 0;
};

const char *name_of(DirectiveKind kind) {
  switch (kind) {
    case DirectiveKind::split: return "split";
    case DirectiveKind::fuse: return "fuse";
    case DirectiveKind::reorder: return "reorder";
    case DirectiveKind::rename: return "rename";
    case DirectiveKind::serial: return "serial";
    case DirectiveKind::unroll: return "unroll";
    case DirectiveKind::vectorize: return "vectorize";
    case DirectiveKind::parallel: return "parallel";
    case DirectiveKind::gpu_block: return "gpu_blocks";
    case DirectiveKind::gpu_thread: return "gpu_threads";
    case DirectiveKind::compute_inline: return "compute_inline";
    case DirectiveKind::compute_root: return "compute_root";
    case DirectiveKind::compute_at: return "compute_at";
    case DirectiveKind::store_root: return "store_root";
    case DirectiveKind::store_at: return "store_at";
    case DirectiveKind::store_in: return "store_in";
    case DirectiveKind::reorder_storage: return "reorder_storage";
    case DirectiveKind::pad: return "pad";
    case DirectiveKind::fold_storage: return "fold_storage";
    case DirectiveKind::bound: return "bound";
    case DirectiveKind::align_bounds: return "align_bounds";
    case DirectiveKind::atomic: return "atomic";
    case DirectiveKind::pipelined: return "pipelined";
    case DirectiveKind::compute_with: return "compute_with";
    case DirectiveKind::in: return "in";
    case DirectiveKind::clone_in: return "clone_in";
    case DirectiveKind::rfactor: return "rfactor";
    case DirectiveKind::specialize: return "specialize";
    default: return "?";
  }
}

}  // namespace

std::string without_names(const std::string &message) {
  // The quoted text and the numbers.
  std::string text;
  bool quoted = false;
  for (const char c : message) {
    if (c == '\'') {
      if (!quoted) text += "'…'";
      quoted = !quoted;
    } else if (!quoted && c >= '0' && c <= '9') {
      if (text.empty() || text.back() != '#') text += '#';
    } else if (!quoted) {
      text += c;
    }
  }
  // Funcs named in the replacement text, and their dimensions.
  static const std::regex called(R"(\b(sum_#_#|f#)\b)"), along(R"(bound\([xyz],)");
  text = std::regex_replace(text, called, "…");
  text = std::regex_replace(text, along, "bound(…,");
  if (const auto first = text.find(": "); first != std::string::npos && text.find("unknown") < first)
    text = text.substr(first + 2);
  if (const auto loops = text.find("its loops are"); loops != std::string::npos) text.resize(loops);
  if (const auto loops = text.find("it has: "); loops != std::string::npos) text.resize(loops);
  if (const auto loops = text.find("The loops are"); loops != std::string::npos) text.resize(loops);
  return text;
}

std::vector<ir::Directive> random_schedule(const RandomAlgorithm &algorithm, const ir::CapturedPipeline &captured,
                                           Chance &chance, bool gpu, Refusals &refusals,
                                           std::vector<ir::Directive> &tried) {
  return Scheduler(algorithm, captured, chance, gpu, refusals, tried).schedule();
}

namespace {

// The condition of a specialization, as the front end captures it.
ir::Value condition_of(ir::CapturedPipeline &captured, const std::vector<std::int64_t> &numbers) {
  ir::Kernel &kernel = captured.algorithm;
  const auto let = [&](ir::Operation operation) {
    const ir::LocalId local = kernel.local_count++;
    const ir::Type type = operation.type;
    kernel.body.emplace_back(ir::Let{local, std::move(operation)}, SourceLocation());
    return ir::Value::local(type, local);
  };
  const auto number = [](std::int64_t value) { return ir::Value::constant(ScalarType::Int32, value); };
  const auto parameter = static_cast<std::uint32_t>(numbers[1]);
  const ir::Value of = kernel.parameters[parameter].rank == 0
                           ? ir::Value::parameter(ScalarType::Int32, parameter)
                           : let({ir::Op::Extent, ScalarType::Int32, {}, parameter, static_cast<int>(numbers[2])});
  switch (static_cast<Asks>(numbers[3])) {
    case Asks::less: return let({ir::Op::Less, ScalarType::Bool, {of, number(numbers[4])}});
    case Asks::at_least: return let({ir::Op::GreaterEqual, ScalarType::Bool, {of, number(numbers[4])}});
    case Asks::equal: return let({ir::Op::Equal, ScalarType::Bool, {of, number(numbers[4])}});
    case Asks::multiple: break;
  }
  const ir::Value rest = let({ir::Op::Rem, ScalarType::Int32, {of, number(numbers[4])}});
  return let({ir::Op::Equal, ScalarType::Bool, {rest, number(0)}});
}

// The Func that a directive makes, and its number.
std::uint32_t add_func(ir::CapturedPipeline &captured, const Directive &directive, std::uint32_t of) {
  const ir::Func &func = captured.funcs[of];
  ir::Func made{.name = fmt::format("{}_{}", func.name, *directive.other),
                .types = func.types,
                .array = static_cast<std::uint32_t>(captured.algorithm.parameters.size()),
                .rank = func.rank + static_cast<int>(directive.names.size() / 2),
                .output = {},
                .of_schedule = true,
                .where = {}};
  for (std::size_t v = 0; v < made.types.size(); ++v)
    captured.algorithm.parameters.push_back({fmt::format("{}_{}", made.name, v), made.types[v], made.rank});
  captured.funcs.push_back(std::move(made));
  return static_cast<std::uint32_t>(captured.funcs.size() - 1);
}

}  // namespace

ir::CapturedPipeline with_schedule(ir::CapturedPipeline captured, const std::vector<ir::Directive> &directives) {
  std::map<std::uint32_t, std::uint32_t> funcs, specials;  // by their numbers in directives
  const auto known = [&](std::uint32_t func) { return func < first_made || funcs.contains(func); };
  const auto number = [&](std::uint32_t func) { return func < first_made ? func : funcs.at(func); };
  std::vector<Directive> numbered;
  for (Directive directive : directives) {
    if (!known(directive.func)) continue;
    if (directive.specialization && !specials.contains(*directive.specialization)) continue;
    directive.func = number(directive.func);
    if (makes_func(directive.kind))
      funcs[*directive.other] = add_func(captured, directive, directive.func);
    else if (directive.other && !known(*directive.other))
      continue;
    if (directive.other) directive.other = number(*directive.other);
    if (directive.specialization) directive.specialization = specials.at(*directive.specialization);
    if (directive.kind == DirectiveKind::specialize) {
      specials[static_cast<std::uint32_t>(directive.numbers[0])] = static_cast<std::uint32_t>(numbered.size());
      directive.condition = condition_of(captured, directive.numbers);
      directive.numbers.clear();
    }
    numbered.push_back(std::move(directive));
  }
  captured.schedules.push_back({ir::CapturedSchedule::For::name, "random", numbered, {}});
  return captured;
}

std::string to_string(const RandomAlgorithm &algorithm, const std::vector<ir::Directive> &directives) {
  std::string text;
  std::map<std::uint32_t, std::string> made;
  const auto name = [&](std::uint32_t func) { return func < first_made ? algorithm.functions[func].name : made[func]; };
  for (const Directive &directive : directives) {
    std::vector<std::string> arguments;
    if (makes_func(directive.kind)) {
      made[*directive.other] = fmt::format("{}_{}", name(directive.func), *directive.other);
      text += made[*directive.other] + " = ";
      for (const std::uint32_t consumer : directive.consumers) arguments.push_back(name(consumer));
    }
    if (directive.kind == DirectiveKind::specialize) {
      static const std::vector<std::string> asks{"<", ">=", "==", "a multiple of"};
      text += fmt::format("special{} = ", directive.numbers[0]);
      arguments.push_back(fmt::format(
          "{}, {}: {} {}", algorithm.parameters[static_cast<std::size_t>(directive.numbers[1])].name,
          directive.numbers[2], asks[static_cast<std::size_t>(directive.numbers[3])], directive.numbers[4]));
    }
    if (directive.other && !makes_func(directive.kind))
      arguments.push_back(name(*directive.other) + (directive.other_definition
                                                        ? fmt::format(".update({})", directive.other_definition - 1)
                                                        : ""));
    for (const std::string &loop : directive.names) arguments.push_back(loop);
    if (directive.kind != DirectiveKind::specialize)
      for (const std::int64_t number : directive.numbers) arguments.push_back(std::to_string(number));
    static const std::vector<std::string> tails{
        "",          "guard",           "shift_inwards",    "round_up",
        "predicate", "predicate_loads", "predicate_stores", "shift_inwards_and_blend"};
    if (directive.tail != Tail::automatic)
      arguments.push_back("Tail::" + tails[static_cast<std::size_t>(directive.tail)]);
    if (directive.kind == DirectiveKind::store_in) {
      using ir::MemorySpace;
      arguments.push_back(directive.space == MemorySpace::registers ? "Memory::registers"
                          : directive.space == MemorySpace::shared  ? "Memory::shared"
                          : directive.space == MemorySpace::device  ? "Memory::device"
                                                                    : "Memory::local");
    }
    text += fmt::format(
        "{}{}.{}({});\n",
        directive.specialization ? fmt::format("special{}", *directive.specialization) : name(directive.func),
        directive.definition ? fmt::format(".update({})", directive.definition - 1) : "", name_of(directive.kind),
        fmt::join(arguments, ", "));
  }
  return text;
}

}  // namespace samite::test
