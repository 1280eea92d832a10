#include "samite/passes/adjoint/gather.h"

#include "samite/base/error.h"
#include "samite/ir/visit.h"
#include "samite/passes/adjoint/exchanges.h"
#include "samite/passes/adjoint/gather_sources.h"
#include "samite/passes/analysis/slice.h"
#include "samite/passes/simplify/builder.h"
#include "samite/passes/simplify/promote.h"
#include "samite/passes/simplify/simplify.h"
#include "samite/passes/threads/lower_threads.h"

#include <algorithm>
#include <map>
#include <set>

namespace samite::passes {
namespace {

using namespace ir;

// The cost of an atomic addition, in statements: if the lanes of a vector are neighbours in memory, and if they are not
// and add one after another. Measured on a CPU; the order of magnitude matters.
constexpr std::size_t vector_atomic_cost = 3, lane_atomic_cost = 48;

// An addition that can be gathered.
struct Site {
  const Accumulate *statement;
  std::vector<Source> sources;
};

// An instance's own element: its index in each dimension of the array is the instance's index in a dimension of the
// launch (`launch`), or a constant.
struct Place {
  std::uint32_t array;
  std::vector<int> launch;  // -1: a constant
  std::vector<std::int64_t> constants;
  friend auto operator<=>(const Place &, const Place &) = default;
};

class Sites {
 public:
  explicit Sites(const Kernel &adjoint) : adjoint_(adjoint), maps_(index_maps(adjoint)) {
    if (!has_only_branches() || !reads_nothing_it_adds_to() || !takes_each_element_once()) return;
    std::map<std::uint32_t, std::vector<const Accumulate *>> additions;
    std::set<std::uint32_t> atomic;
    for_each_statement(adjoint.body, [&](const Stmt &stmt) {
      const Accumulate *accumulate = stmt.as<Accumulate>();
      if (!accumulate || !is_gradient(accumulate->array)) return;
      additions[accumulate->array].push_back(accumulate);
      if (accumulate->atomic) atomic.insert(accumulate->array);
    });
    for (std::uint32_t array : atomic) gather(array, additions[array]);
  }

  std::vector<Site> sites;
  std::map<const Accumulate *, Place> places;
  std::vector<GatheredAdjoint::Cover> covers;
  std::size_t atomics_cost = 0;

 private:
  bool is_gradient(std::uint32_t array) const { return adjoint_.parameters[array].role == Role::Gradient; }

  bool has_only_branches() const {
    bool only = true;
    for_each_statement(adjoint_.body, [&](const Stmt &stmt) {
      const Let *let = stmt.as<Let>();
      const bool plain_take = let && is_plain_exchange(let->value);
      const bool reads = let && (info(let->value.op).pure || let->value.op == Op::Load || plain_take);
      only = only && (reads || stmt.as<Accumulate>() || stmt.as<If>());
    });
    return only;
  }

  bool reads_nothing_it_adds_to() const {
    std::set<std::uint32_t> read, added;
    for_each_statement(adjoint_.body, [&](const Stmt &stmt) {
      if (const Accumulate *accumulate = stmt.as<Accumulate>()) added.insert(accumulate->array);
      if (auto array = array_read(stmt); array && stmt.as<Let>()) read.insert(*array);
    });
    return std::none_of(read.begin(), read.end(), [&](std::uint32_t array) { return added.contains(array); });
  }

  // The second of two exchanges of one element reads zero. Two loads would both read the gradient.
  bool takes_each_element_once() const {
    struct Read {
      const Operation *operation;
      bool takes;
    };
    std::vector<Read> reads;
    for_each_statement(adjoint_.body, [&](const Stmt &stmt) {
      const Let *let = stmt.as<Let>();
      if (let && info(let->value.op).typing == Typing::Load && is_gradient(let->value.array))
        reads.push_back({&let->value, let->value.op == Op::Exchange});
    });
    for (std::size_t a = 0; a < reads.size(); ++a)
      for (std::size_t b = 0; b < a; ++b)
        if ((reads[a].takes || reads[b].takes) && may_meet(*reads[a].operation, *reads[b].operation)) return false;
    return true;
  }

  // Whether both may access one element in one instance.
  bool may_meet(const Operation &a, const Operation &b) const {
    if (a.array != b.array) return false;
    for (std::size_t d = 0; d < a.operands.size(); ++d) {
      const Value &i = a.operands[d], &j = b.operands[d];
      if (i.is_constant() && j.is_constant() && i.as_int() != j.as_int()) return false;
    }
    return true;
  }

  std::optional<IndexMap> map(const Value &index) const { return index.is_local() ? maps_[index.id()] : std::nullopt; }

  void gather(std::uint32_t array, const std::vector<const Accumulate *> &additions) {
    std::vector<Site> found;
    std::vector<std::pair<const Accumulate *, Place>> owned;
    std::vector<GatheredAdjoint::Cover> needed;
    std::size_t atomics = 0;
    std::optional<std::vector<int>> launch_of;
    for (const Accumulate *addition : additions) {
      Place place{array, {}, {}};
      std::vector<IndexMap> maps;
      for (const Value &index : addition->indices) {
        const auto known = map(index);
        if (!known && !index.is_constant()) return;
        place.launch.push_back(known ? known->dimension : -1);
        place.constants.push_back(known ? 0 : index.as_int());
        if (!known) continue;
        const int d = static_cast<int>(place.launch.size()) - 1;
        needed.push_back({{adjoint_.parameters[array].primal, d}, known->dimension});
        if (known->until) needed.push_back({primal(*known->until), known->dimension});
        maps.push_back(*known);
      }
      // Each dimension of the launch occurs once, in the same position in all accesses: so each instance has its own
      // elements.
      if (static_cast<int>(maps.size()) != adjoint_.launch_rank) return;
      for (int k = 0; k < adjoint_.launch_rank; ++k)
        if (std::count(place.launch.begin(), place.launch.end(), k) != 1) return;
      if (launch_of && *launch_of != place.launch) return;
      launch_of = place.launch;
      Site site{addition, sources_of(maps)};
      if (site.sources.empty()) return;
      found.push_back(std::move(site));
      owned.emplace_back(addition, std::move(place));
      atomics += cost_of(maps);
    }
    sites.insert(sites.end(), found.begin(), found.end());
    places.insert(owned.begin(), owned.end());
    for (const GatheredAdjoint::Cover &cover : needed)
      if (std::find(covers.begin(), covers.end(), cover) == covers.end()) covers.push_back(cover);
    atomics_cost += atomics;
  }

  ArrayDimension primal(ArrayDimension of) const {
    const Parameter &parameter = adjoint_.parameters[of.array];
    return {parameter.role == Role::Gradient ? parameter.primal : of.array, of.dimension};
  }

  // Lanes run along the last dimension of the launch.
  std::size_t cost_of(const std::vector<IndexMap> &maps) const {
    for (const IndexMap &map : maps)
      if (map.dimension == adjoint_.launch_rank - 1 && (map.from_first || map.until)) return lane_atomic_cost;
    return vector_atomic_cost;
  }

  const Kernel &adjoint_;
  std::vector<std::optional<IndexMap>> maps_;
};

// Copies the adjoint's body for the instance at a shift. Exchanges become loads.
class Copier {
 public:
  using Shift = std::array<std::int64_t, maximum_rank>;
  struct Events {
    std::function<void(const Accumulate &, const Copier &)> accumulate;
    std::function<void(const Operation &)> take = [](const Operation &) {};  // called with the copy's indices
  };

  Copier(const Kernel &adjoint, Builder &build, const Shift &shift, Events events)
      : build_(build), shift_(shift), events_(std::move(events)), values_(adjoint.local_count) {}

  void copy(const Block &block) {
    for (const Stmt &stmt : block) {
      build_.at(stmt.where());
      visit(
          stmt, [&](const Let &let) { values_[let.local] = operation(let.value); },
          [&](const If &branch) { copy_branch(branch, stmt.where()); },
          [&](const Accumulate &accumulate) { events_.accumulate(accumulate, *this); }, [](const auto &) {});
    }
  }

  Value value(const Value &old) const { return old.is_local() ? *values_[old.id()] : old; }

 private:
  Value operation(Operation operation) {
    for (Value &operand : operation.operands) operand = value(operand);
    if (operation.op == Op::ThreadIndex) {
      const std::int64_t by = shift_[static_cast<std::size_t>(operation.attribute)];
      return moved(build_.operation(operation), by);
    }
    if (operation.op == Op::Exchange) {
      events_.take(operation);
      operation = as_load(std::move(operation));
    }
    if (is_integer(operation.type) && operation.operands.size() == 2 && operation.operands[1].is_constant()) {
      if (operation.op == Op::Add) return moved(operation.operands[0], operation.operands[1].as_int());
      if (operation.op == Op::Sub) return moved(operation.operands[0], -operation.operands[1].as_int());
    }
    return build_.operation(std::move(operation));
  }

  // base + by. If base is itself a sum with a constant, the constants are added: i + 1 - 1 is i.
  Value moved(Value base, std::int64_t by) {
    if (auto known = base.is_local() ? origin_.find(base.id()) : origin_.end(); known != origin_.end()) {
      by += known->second.second;
      base = known->second.first;
    }
    const Value sum = build_(Op::Add, {base, Value::constant(base.type(), by)});
    if (sum.is_local() && !(sum == base)) origin_.emplace(sum.id(), std::pair{base, by});
    return sum;
  }

  void copy_branch(const If &branch, SourceLocation where) {
    If copied{value(branch.condition), {}, {}, {}};
    Block outer = build_.open();
    copy(branch.then_block);
    std::vector<Value> then_values;
    for (const BranchResult &result : branch.results) then_values.push_back(value(result.then_value));
    copied.then_block = build_.close({});
    copy(branch.else_block);
    for (std::size_t i = 0; i < branch.results.size(); ++i) {
      const BranchResult &result = branch.results[i];
      copied.results.push_back({build_.new_local(), result.type, then_values[i], value(result.else_value)});
    }
    copied.else_block = build_.close(std::move(outer));
    for (std::size_t i = 0; i < branch.results.size(); ++i)
      values_[branch.results[i].local] = Value::local(branch.results[i].type, copied.results[i].local);
    build_.append({std::move(copied), where});
  }

  Builder &build_;
  Shift shift_;
  Events events_;
  std::vector<std::optional<Value>> values_;
  std::map<LocalId, std::pair<Value, std::int64_t>> origin_;
};

class Gatherer {
 public:
  Gatherer(const Kernel &adjoint, const Sites &sites) : adjoint_(adjoint), sites_(sites) {
    for (const Site &site : sites.sites)
      for (const Source &source : site.sources) additions_[source].insert(site.statement);
  }

  // The approximate statements of an instance in the interior.
  std::size_t cost() const {
    const Slices slices(adjoint_);
    std::size_t cost = 0;
    auto count = [&](const Source &source) {
      const auto wanted = additions_.find(source);
      std::vector<Stmt> run;
      for (const Stmt &stmt : slices.statements()) {
        const Accumulate *accumulate = stmt.as<Accumulate>();
        if (!accumulate) continue;
        const bool kept = source.always() && !sites_.places.contains(accumulate);
        if (kept || (wanted != additions_.end() && wanted->second.contains(accumulate))) run.push_back(stmt);
      }
      cost += slices.size(run);
    };
    count(Source{});
    for (const auto &[source, statements] : additions_)
      if (!source.always() && !source.at_edges_only()) count(source);
    return cost;
  }

  Kernel gather() {
    build_ = Builder();
    build_.at(adjoint_.where);
    for (int k = 0; k < adjoint_.launch_rank; ++k) {
      const ScalarType type = counts_in_i32(adjoint_, k) ? ScalarType::Int32 : ScalarType::Int64;
      index_.push_back(build_.operation({Op::ThreadIndex, type, {}, 0, k}));
    }
    for (const Site &site : sites_.sites) {
      const Place &place = sites_.places.at(site.statement);
      if (sums_.contains(place)) continue;
      const ScalarType type = adjoint_.parameters[place.array].type;
      sums_.emplace(place, Sum{build_.variable(Value::zero(type)), build_.variable(Value::boolean(false)), type});
    }
    copy_for(Source{});
    for (const auto &[source, statements] : additions_)
      if (!source.always()) copy_under_conditions(source);
    for (const auto &[place, sum] : sums_) add_to(place, sum);
    return finished(adjoint_.name);
  }

  Kernel clear() {
    build_ = Builder();
    Copier copier(adjoint_, build_, {},
                  {[](const Accumulate &, const Copier &) {},
                   [&](const Operation &take) {
                     build_.append({Store{take.array, take.operands, Value::zero(take.type)}, build_.where()});
                   }});
    copier.copy(adjoint_.body);
    return finished(adjoint_.name + "_clear");
  }

 private:
  // The partial sum of the contributions to an element, and whether there are any.
  struct Sum {
    LocalId total, any;
    ScalarType type;
  };

  // Copies the body for one source. The instance's own copy also has the other additions.
  void copy_for(const Source &source) {
    const auto wanted = additions_.find(source);
    Copier copier(adjoint_, build_, source.shift, {[&](const Accumulate &accumulate, const Copier &copy) {
                    const auto place = sites_.places.find(&accumulate);
                    if (place == sites_.places.end()) {
                      if (source.always()) keep(accumulate, copy);
                    } else if (wanted != additions_.end() && wanted->second.contains(&accumulate)) {
                      const Sum &sum = sums_.at(place->second);
                      const Value total = Value::local(sum.type, sum.total);
                      build_.assign(sum.total, build_(Op::Add, {total, copy.value(accumulate.value)}));
                      build_.assign(sum.any, Value::boolean(true));
                    }
                  }});
    copier.copy(adjoint_.body);
  }

  void keep(const Accumulate &accumulate, const Copier &copy) {
    Accumulate kept = accumulate;
    for (Value &index : kept.indices) index = copy.value(index);
    kept.value = copy.value(kept.value);
    build_.append({std::move(kept), build_.where()});
  }

  void copy_under_conditions(const Source &source) {
    build_.at(adjoint_.where);
    Value all = Value::boolean(true);
    for (const Condition &condition : source.conditions) all = both(all, truth(condition));
    Block outer = build_.open();
    copy_for(source);
    If branch{all, {}, {}, {}};
    branch.then_block = build_.close(std::move(outer));
    build_.append({std::move(branch), adjoint_.where});
  }

  Value both(const Value &a, const Value &b) { return a.is_constant() ? b : build_(Op::And, {a, b}); }

  Value truth(const Condition &condition) {
    using Kind = Condition::Kind;
    const Value t = index_[static_cast<std::size_t>(condition.dimension)];
    auto number = [&](std::int64_t n) { return Value::constant(t.type(), n); };
    auto less = [&](std::int64_t n) { return build_(Op::Sub, {extent(condition.dimension, t.type()), number(n)}); };
    const Value n = number(condition.number);
    switch (condition.kind) {
      case Kind::AtLeast: return build_(Op::GreaterEqual, {t, n});
      case Kind::Before: return build_(Op::Less, {t, less(condition.number)});
      case Kind::First:
        return both(build_(Op::Equal, {t, number(0)}), build_(Op::Less, {n, extent(condition.dimension, t.type())}));
      case Kind::Last: break;
    }
    return both(build_(Op::Equal, {t, less(1)}), build_(Op::GreaterEqual, {t, n}));
  }

  Value extent(int launch_dimension, ScalarType type) {
    for (const GatheredAdjoint::Cover &cover : sites_.covers)
      if (cover.launch_dimension == launch_dimension)
        return build_.operation({Op::Extent, type, {}, cover.array.array, cover.array.dimension});
    throw InternalError("a gathered adjoint has no array to cover its launch");
  }

  void add_to(const Place &place, const Sum &sum) {
    build_.at(adjoint_.where);
    Accumulate accumulate{place.array, {}, Value::local(sum.type, sum.total), false};
    for (std::size_t d = 0; d < place.launch.size(); ++d)
      accumulate.indices.push_back(place.launch[d] >= 0 ? index_[static_cast<std::size_t>(place.launch[d])]
                                                        : Value::constant(ScalarType::Int64, place.constants[d]));
    If branch{Value::local(ScalarType::Bool, sum.any), {}, {}, {}};
    branch.then_block.push_back({std::move(accumulate), adjoint_.where});
    build_.append({std::move(branch), adjoint_.where});
  }

  Kernel finished(const std::string &name) {
    Kernel kernel = adjoint_;
    kernel.name = name;
    kernel.local_count = build_.local_count();
    kernel.local_array_count = 0;
    kernel.body = build_.take();
    index_.clear();
    return simplify(promote(kernel));
  }

  const Kernel &adjoint_;
  const Sites &sites_;
  std::map<Source, std::set<const Accumulate *>> additions_;
  Builder build_;
  std::vector<Value> index_;
  std::map<Place, Sum> sums_;
};

}  // namespace

std::optional<GatheredAdjoint> gather_adjoint(const Kernel &adjoint, bool even_if_slower) {
  if (is_tile_kernel(adjoint)) return std::nullopt;
  const Sites sites(adjoint);
  if (sites.sites.empty()) return std::nullopt;
  Gatherer gatherer(adjoint, sites);
  if (!even_if_slower) {
    std::size_t scatter_cost = sites.atomics_cost;
    for_each_statement(adjoint.body, [&](const Stmt &) { ++scatter_cost; });
    if (gatherer.cost() > scatter_cost) return std::nullopt;
  }
  return GatheredAdjoint{gatherer.gather(), gatherer.clear(), sites.covers, {}};
}

}  // namespace samite::passes
