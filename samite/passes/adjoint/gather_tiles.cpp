#include "samite/passes/adjoint/gather_tiles.h"

#include "samite/ir/tile_rules.h"
#include "samite/ir/visit.h"
#include "samite/passes/adjoint/exchanges.h"
#include "samite/passes/adjoint/wide_windows.h"
#include "samite/passes/analysis/index_forms.h"
#include "samite/passes/simplify/builder.h"
#include "samite/passes/simplify/simplify.h"
#include "samite/passes/threads/lower_threads.h"

#include <algorithm>
#include <cstdlib>
#include <map>
#include <set>

namespace samite::passes {
namespace {

using namespace ir;

bool is_window_load(const Operation &operation) {
  return (operation.op == Op::Load || operation.op == Op::Exchange) && !is_gather(operation.operands);
}

// An addition that can be gathered.
struct WindowSite {
  const Stmt *statement;
  const For *loop;          // around it
  std::vector<int> freed;   // dimensions of the launch that do not select the window
  bool disjoint;            // windows do not overlap
  std::vector<Stmt> slice;  // the computation of its value and indices, in program order
  std::optional<WideWindows> wide{};
  const Accumulate &accumulate() const { return *statement->as<Accumulate>(); }
};

const Let *made_by(const WindowSite &site, const Value &value) {
  for (const Stmt &stmt : site.slice)
    if (const Let *let = stmt.as<Let>(); value.is_local() && let->local == value.id()) return let;
  return nullptr;
}
bool is_wider(const Type &a, const Type &b) {
  return is_floating(a) && is_floating(b) && size_of(a.element()) > size_of(b.element());
}
bool is_zero(const Value &value) { return value.is_constant() && value.as_double() == 0; }

// The value that is summed over the blocks: before its cast to the narrower type of the gradient.
Value summed_value(const WindowSite &site) {
  const Value &added = site.accumulate().value;
  const Let *made = made_by(site, added);
  const bool narrowed = made && made->value.op == Op::Cast && is_wider(made->value.operands[0].type(), added.type());
  return narrowed ? made->value.operands[0] : added;
}
Type summed_type(const Type &added) {
  return is_floating(added) && size_of(added.element()) < 4 ? added.of(ScalarType::Float32) : added;
}

// The product whose sums, starting from zeros, are summed; null if there is none.
const Let *summed_product(const WindowSite &site) {
  const Let *made = made_by(site, summed_value(site));
  if (!made || made->value.op != Op::MatMul) return nullptr;
  return summed_type(made->value.type) == made->value.type && is_zero(made->value.operands[2]) ? made : nullptr;
}

class WindowSites {
 public:
  WindowSites(const Kernel &adjoint, bool wide) : adjoint_(adjoint), forms_(adjoint), wide_(wide) {
    for_each_statement(adjoint.body, [&](const Stmt &stmt) {
      if (auto *let = stmt.as<Let>()) definitions_.emplace(let->local, stmt);
      if (auto array = array_read(stmt); array && stmt.as<Let>()) ++reads_[*array];
      if (auto array = array_written(stmt)) ++writes_[*array];
    });
    if (!takes_are_simple()) return;
    for (const Stmt &stmt : adjoint.body) {
      const For *loop = stmt.as<For>();
      if (!loop || !loop->step.is_constant() || std::abs(loop->step.as_int()) != 1) continue;
      for (const Stmt &inside : loop->body) add(inside, *loop);
    }
  }

  std::vector<WindowSite> sites;

 private:
  // Other blocks may read the gradients that a block takes: each is taken once, by one block.
  bool takes_are_simple() const {
    std::size_t all = 0, outside = 0;
    bool simple = true;
    const auto is_take = [](const Let *let) {
      return let && (let->value.op == Op::Exchange || info(let->value.op).typing == Typing::Atomic);
    };
    for_each_statement(adjoint_.body, [&](const Stmt &stmt) { all += is_take(stmt.as<Let>()); });
    for (const Stmt &stmt : adjoint_.body) {
      const Let *let = stmt.as<Let>();
      if (!is_take(let)) continue;
      ++outside;
      const std::uint32_t array = let->value.array;
      const bool plain = is_plain_exchange(let->value) && is_window_load(let->value);
      simple = simple && plain && reads_.at(array) == 1 && writes_.at(array) == 1;
    }
    return simple && all == outside;
  }

  void add(const Stmt &stmt, const For &loop) {
    const Accumulate *accumulate = stmt.as<Accumulate>();
    if (!accumulate || !accumulate->atomic || is_gather(accumulate->indices)) return;
    const bool gradient = adjoint_.parameters[accumulate->array].role == Role::Gradient;
    if (!gradient || reads_.contains(accumulate->array) || !accumulate->value.type().is_tile()) return;
    WindowSite site{&stmt, &loop, {}, true, {}};
    if (!forms_.same_in_launch(loop.begin) || !forms_.same_in_launch(loop.end)) return;
    std::set<int> selected;
    const TileShape shape = accumulate->value.type().shape();
    const int rank = static_cast<int>(accumulate->indices.size());
    for (int d = 0; d < rank; ++d) {
      const auto own = forms_.along(accumulate->indices[static_cast<std::size_t>(d)], &loop);
      if (!own) return;
      if (!own->index) continue;
      if (!own->one_to_one) return;
      const std::int64_t extent = rank - d <= shape.rank() ? shape[shape.rank() - (rank - d)] : 1;
      site.disjoint = site.disjoint && std::abs(own->scale) >= extent;
      selected.insert(own->index->kind == Symbol::Kind::ThreadIndex ? own->index->dimension : adjoint_.launch_rank);
    }
    for (int d = 0; d < adjoint_.launch_rank; ++d)
      if (!selected.contains(d)) site.freed.push_back(d);
    if (site.freed.empty() || !selected.contains(adjoint_.launch_rank)) return;
    if (!find_slice(site)) return;
    if (const Let *product = summed_product(site); wide_ && product && site.freed.size() == 1)
      site.wide = wide_windows(*accumulate, *product, site.slice, loop, site.freed[0], forms_);
    sites.push_back(std::move(site));
  }

  // False if the slice needs more than loads of constant arrays and operations without effects.
  bool find_slice(WindowSite &site) const {
    std::set<LocalId> needed;
    std::vector<Value> open{site.accumulate().value};
    open.insert(open.end(), site.accumulate().indices.begin(), site.accumulate().indices.end());
    open.push_back(site.loop->begin);
    open.push_back(site.loop->end);
    while (!open.empty()) {
      const Value value = open.back();
      open.pop_back();
      if (!value.is_local() || value.id() == site.loop->index || !needed.insert(value.id()).second) continue;
      const auto known = definitions_.find(value.id());
      if (known == definitions_.end()) return false;
      const Operation &operation = known->second.as<Let>()->value;
      const bool take = operation.op == Op::Exchange;
      const bool load = operation.op == Op::Load && !writes_.contains(operation.array);
      const bool pure = info(operation.op).pure && operation.op != Op::LocalLoad;
      if (!take && !load && !pure) return false;
      open.insert(open.end(), operation.operands.begin(), operation.operands.end());
    }
    for_each_statement(adjoint_.body, [&](const Stmt &stmt) {
      if (auto *let = stmt.as<Let>(); let && needed.contains(let->local)) site.slice.push_back(stmt);
    });
    return true;
  }

  const Kernel &adjoint_;
  const IndexForms forms_;
  const bool wide_;
  std::map<LocalId, Stmt> definitions_;
  std::map<std::uint32_t, int> reads_, writes_;
};

class WindowGatherer {
 public:
  WindowGatherer(const Kernel &adjoint, const WindowSites &sites)
      : adjoint_(adjoint), sites_(sites.sites), build_(adjoint.local_count) {
    for_each_statement(adjoint.body, [&](const Stmt &stmt) {
      if (auto *accumulate = stmt.as<Accumulate>()) ++additions_[accumulate->array];
    });
  }

  Kernel gather() {
    for (const Stmt &stmt : without_sites(adjoint_.body)) build_.append(stmt);
    for (const WindowSite &site : sites_) write(site);
    return finished("_gathered");
  }

  Kernel clear() {
    build_ = Builder(adjoint_.local_count);
    for (const Stmt &stmt : adjoint_.body) {
      const Let *let = stmt.as<Let>();
      if (!let) continue;
      if (let->value.op == Op::Exchange)
        build_.append({Store{let->value.array, let->value.operands, Value::zero(let->value.type)}, stmt.where()});
      else if (info(let->value.op).pure && !let->value.type.is_tile())
        build_.append(stmt);
    }
    return finished("_clear");
  }

  GatheredAdjoint::DealtLoop dealt(const WindowSite &site) const {
    GatheredAdjoint::DealtLoop loop{site.freed, {}, site.loop->begin, site.loop->end, {}};
    if (const auto &wide = site.wide)
      loop.wide = {
          wide->by, {adjoint_.parameters[site.accumulate().array].primal, wide->dimension}, wide->extent, wide->rest};
    for (const Stmt &stmt : site.slice) {
      Let let = *stmt.as<Let>();
      if (let.value.type.is_tile()) continue;
      if (let.value.op == Op::Extent && adjoint_.parameters[let.value.array].role == Role::Gradient)
        let.value.array = adjoint_.parameters[let.value.array].primal;
      loop.scalars.emplace_back(std::move(let), stmt.where());
    }
    return loop;
  }

 private:
  // The adjoint with loads in place of exchanges.
  Block without_sites(const Block &block) const {
    Block kept;
    for (const Stmt &stmt : block) {
      const auto is_site = [&](const WindowSite &site) { return &site.accumulate() == stmt.as<Accumulate>(); };
      if (stmt.as<Accumulate>() && std::ranges::any_of(sites_, is_site)) continue;
      if (auto *loop = stmt.as<For>()) {
        For copy = *loop;
        copy.body = without_sites(loop->body);
        kept.emplace_back(std::move(copy), stmt.where());
      } else if (auto *let = stmt.as<Let>(); let && let->value.op == Op::Exchange) {
        kept.emplace_back(Let{let->local, as_load(let->value)}, stmt.where());
      } else {
        kept.push_back(stmt);
      }
    }
    return kept;
  }

  Kernel finished(const std::string &suffix) {
    Kernel kernel = adjoint_;
    kernel.name += suffix;
    kernel.local_count = build_.local_count();
    kernel.body = build_.take();
    return simplify(kernel);
  }

  // The level of a statement of a slice: outside of both loops, in the loop over windows, in the loop over blocks.
  enum Level : std::uint8_t { Outside, OfWindow, OfBlock };

  std::map<LocalId, Level> levels_of(const WindowSite &site) const {
    std::map<LocalId, Level> levels{{site.loop->index, OfWindow}};
    for (const Stmt &stmt : site.slice) {
      const Let &let = *stmt.as<Let>();
      Level level = Outside;
      if (let.value.op == Op::ThreadIndex && std::ranges::find(site.freed, let.value.attribute) != site.freed.end())
        level = OfBlock;
      for (const Value &operand : let.value.operands)
        if (operand.is_local()) level = std::max(level, levels.at(operand.id()));
      levels.emplace(let.local, level);
    }
    return levels;
  }

  static Value number(std::int64_t value) { return Value::constant(ScalarType::Int64, value); }
  Value wide(const Value &value) { return build_.cast(ScalarType::Int64, value); }
  ScalarType index_type(int dimension) const {
    return counts_in_i32(adjoint_, dimension) ? ScalarType::Int32 : ScalarType::Int64;
  }
  Value quotient_up(const Value &a, const Value &b) {
    return build_(Op::Div, {build_(Op::Sub, {build_(Op::Add, {a, b}), number(1)}), b});
  }
  Value of_launch(Op op, int dimension) { return build_.operation({op, index_type(dimension), {}, 0, dimension}); }

  Value value(const Value &old) const {
    const auto known = old.is_local() ? values_.find(old.id()) : values_.end();
    return known == values_.end() ? old : known->second;
  }

  void copy(const Stmt &stmt) {
    const Let &let = *stmt.as<Let>();
    build_.at(stmt.where());
    Operation operation = let.value.op == Op::Exchange ? as_load(let.value) : let.value;
    for (Value &operand : operation.operands) operand = value(operand);
    values_.insert_or_assign(let.local, build_.operation(std::move(operation)));
  }

  // Several blocks need the same windows, which are distributed over them cyclically: a block's number among them is
  // its first window.
  void write(const WindowSite &site) {
    values_.clear();
    const auto levels = levels_of(site);
    const auto copy_level = [&](Level level, const auto &wanted) {
      for (const Stmt &stmt : site.slice) {
        const Let &let = *stmt.as<Let>();
        const bool own_index = level == OfBlock && let.value.op == Op::ThreadIndex;
        if (levels.at(let.local) == level && !own_index && wanted(let)) copy(stmt);
      }
    };
    const auto all = [](const Let &) { return true; };
    build_.at(site.statement->where());
    copy_level(Outside, all);

    Value first = number(0), blocks = number(1);
    for (const int d : site.freed) {
      const Value begin = wide(of_launch(Op::LaunchBegin, d)), end = wide(of_launch(Op::LaunchEnd, d));
      const Value count = build_(Op::Sub, {end, begin});
      const Value own = wide(build_.operation({Op::ThreadIndex, index_type(d), {}, 0, d}));
      first = build_(Op::Add, {build_(Op::Mul, {first, count}), build_(Op::Sub, {own, begin})});
      blocks = build_(Op::Mul, {blocks, count});
    }
    const For &loop = *site.loop;
    const bool up = loop.step.as_int() > 0;
    const Value begin = wide(value(loop.begin)), end = wide(value(loop.end));
    const Value by = number(site.wide ? site.wide->by : 1);
    const Value trips = quotient_up(up ? build_(Op::Sub, {end, begin}) : build_(Op::Sub, {begin, end}), by);
    // Zero if the first window is beyond the last one.
    const Value rounds = quotient_up(build_(Op::Sub, {trips, first}), blocks);
    const Value lowest = up ? begin : build_(Op::Add, {end, number(1)});

    For windows{build_.new_local(), ScalarType::Int64, number(0), rounds, number(1), {}, {}};
    Block outer = build_.open();
    const Value round = Value::local(ScalarType::Int64, windows.index);
    const Value trip = build_(Op::Add, {first, build_(Op::Mul, {round, blocks})});
    values_.insert_or_assign(loop.index,
                             build_.cast(loop.type, build_(Op::Add, {lowest, build_(Op::Mul, {trip, by})})));
    copy_level(OfWindow, all);
    const Value sum = sum_over_blocks(site, levels, copy_level);
    build_.at(site.statement->where());
    Accumulate added = site.accumulate();
    for (Value &index : added.indices) index = value(index);
    added.value = build_.cast(sum.type().of(added.value.type().element()), sum);
    added.atomic = !site.disjoint || additions_.at(added.array) > 1;
    build_.append({std::move(added), site.statement->where()});
    windows.body = build_.close(std::move(outer));
    build_.append({std::move(windows), site.statement->where()});
  }

  template <class CopyLevel>
  Value sum_over_blocks(const WindowSite &site, const std::map<LocalId, Level> &levels, const CopyLevel &copy_level) {
    const Value added = summed_value(site);
    const Let *product = summed_product(site);
    if (product && levels.at(product->local) != OfBlock) product = nullptr;
    const std::int64_t pieces = site.wide ? site.wide->by : 1;
    const Type type = site.wide ? site.wide->types.at(product->local) : summed_type(added.type());

    if (site.wide) {
      // Pieces of terms are consecutive over the blocks: those of the first block, then those of the next ones.
      bind_blocks(site, levels, [](std::size_t) { return number(0); });
      copy_level(OfBlock, [](const Let &let) { return !let.value.type.is_tile(); });
    }
    std::vector<For> loops;
    std::vector<Block> outer;
    Value sum = Value::zero(type);
    for (const int d : site.freed) {
      const ScalarType counter = index_type(d);
      For loop{build_.new_local(),
               counter,
               build_(Op::Mul, {of_launch(Op::LaunchBegin, d), Value::constant(counter, pieces)}),
               build_(Op::Mul, {of_launch(Op::LaunchEnd, d), Value::constant(counter, pieces)}),
               Value::constant(counter, 1),
               {},
               {{build_.new_local(), build_.new_local(), type, sum, sum}}};
      loop.stages = d == site.freed.back() ? site.loop->stages : 1;
      sum = Value::local(type, loop.carried[0].inner);
      loops.push_back(std::move(loop));
      outer.push_back(build_.open());
    }
    if (site.wide) {
      copy_wide(site, *product, Value::local(loops[0].type, loops[0].index));
    } else {
      bind_blocks(site, levels, [&](std::size_t i) { return Value::local(loops[i].type, loops[i].index); });
      // Loads, and the values they need, come first, so that they can be prefetched (passes/tiles/place_tiles.h).
      const std::set<LocalId> early = early_ones(site, levels);
      copy_level(OfBlock, [&](const Let &let) { return early.contains(let.local); });
      copy_level(OfBlock, [&](const Let &let) {
        return !early.contains(let.local) && !(product && let.local == product->local);
      });
    }
    build_.at(site.statement->where());
    if (product) {
      Operation multiply = product->value;
      for (Value &operand : multiply.operands) operand = value(operand);
      multiply.operands[2] = sum;
      multiply.type = type;
      sum = build_.operation(std::move(multiply));
    } else {
      sum = build_(Op::Add, {sum, build_.cast(type, value(added))});
    }
    for (std::size_t i = loops.size(); i-- > 0;) {
      loops[i].carried[0].next = sum;
      sum = Value::local(type, loops[i].carried[0].result);
      loops[i].body = build_.close(std::move(outer[i]));
      build_.append({std::move(loops[i]), site.statement->where()});
    }
    return sum;
  }

  // The indices of the blocks that share a window.
  template <class Index>
  void bind_blocks(const WindowSite &site, const std::map<LocalId, Level> &levels, const Index &index) {
    for (const Stmt &stmt : site.slice)
      if (const Let &let = *stmt.as<Let>(); let.value.op == Op::ThreadIndex && levels.at(let.local) == OfBlock)
        for (std::size_t i = 0; i < site.freed.size(); ++i)
          if (site.freed[i] == let.value.attribute)
            values_.insert_or_assign(let.local, build_.cast(let.value.type, index(i)));
  }

  // The loads of a product's factors from piece `piece` of the terms on, followed by their casts.
  void copy_wide(const WindowSite &site, const Let &product, const Value &piece) {
    const WideWindows &wide = *site.wide;
    const auto is_load = [&](const Let &let) { return std::ranges::find(wide.loads, let.local) != wide.loads.end(); };
    for (const bool loads : {true, false})
      for (const Stmt &stmt : site.slice) {
        const Let &let = *stmt.as<Let>();
        const auto type = wide.types.find(let.local);
        if (type == wide.types.end() || let.local == product.local || is_load(let) != loads) continue;
        build_.at(stmt.where());
        const bool take = let.value.op == Op::Exchange;
        Operation operation = take ? as_load(let.value) : let.value;
        for (Value &operand : operation.operands) operand = value(operand);
        operation.type = type->second;
        for (std::size_t i = 0; i < wide.loads.size(); ++i) {
          if (wide.loads[i] != let.local) continue;
          Value &index = operation.operands[static_cast<std::size_t>(wide.along_terms[i])];
          const Value by = Value::constant(index.type(), wide.extent);
          index = build_(Op::Add, {index, build_(Op::Mul, {build_.cast(index.type(), piece), by})});
        }
        values_.insert_or_assign(let.local, build_.operation(std::move(operation)));
      }
  }

  static std::set<LocalId> early_ones(const WindowSite &site, const std::map<LocalId, Level> &levels) {
    std::set<LocalId> early;
    for (const Stmt &stmt : site.slice) {
      const Let &let = *stmt.as<Let>();
      if (levels.at(let.local) != OfBlock) continue;
      const bool ready = std::ranges::all_of(let.value.operands, [&](const Value &operand) {
        return !operand.is_local() || levels.at(operand.id()) != OfBlock || early.contains(operand.id());
      });
      if (ready && (!let.value.type.is_tile() || is_window_load(let.value))) early.insert(let.local);
    }
    return early;
  }

  const Kernel &adjoint_;
  const std::vector<WindowSite> &sites_;
  Builder build_;
  std::map<LocalId, Value> values_;
  std::map<std::uint32_t, int> additions_;
};

}  // namespace

std::optional<GatheredAdjoint> gather_tiles(const Kernel &adjoint, bool wide) {
  const WindowSites sites(adjoint, wide);
  if (sites.sites.empty()) return std::nullopt;
  if (wide && std::ranges::none_of(sites.sites, [](const WindowSite &site) { return site.wide.has_value(); }))
    return std::nullopt;
  WindowGatherer gatherer(adjoint, sites);
  GatheredAdjoint gathered{gatherer.gather(), gatherer.clear(), {}, {}};
  for (const WindowSite &site : sites.sites) gathered.dealt.push_back(gatherer.dealt(site));
  return gathered;
}

std::optional<std::int64_t> iterations(const GatheredAdjoint::DealtLoop &loop,
                                       const std::function<std::int64_t(ArrayDimension)> &extent,
                                       const std::function<Value(const Value &)> &parameter) {
  Builder build;
  std::map<LocalId, Value> known;
  const auto value = [&](const Value &old) {
    if (old.kind() == Value::Kind::Parameter) return parameter(old);
    const auto found = old.is_local() ? known.find(old.id()) : known.end();
    return found == known.end() ? old : found->second;
  };
  for (const Stmt &stmt : loop.scalars) {
    const Let &let = *stmt.as<Let>();
    Operation operation = let.value;
    if (operation.op == Op::Extent) {
      known.emplace(let.local, Value::constant(operation.type, extent({operation.array, operation.attribute})));
      continue;
    }
    for (Value &operand : operation.operands) operand = value(operand);
    known.emplace(let.local, build.operation(std::move(operation)));
  }
  const Value begin = value(loop.begin), end = value(loop.end);
  if (!begin.is_constant() || !end.is_constant()) return std::nullopt;
  const std::int64_t windows = std::abs(end.as_int() - begin.as_int());
  if (!loop.wide) return windows;
  const GatheredAdjoint::DealtLoop::Wide &wide = *loop.wide;
  const std::int64_t beyond = end.as_int() > begin.as_int() ? end.as_int() : begin.as_int() + 1;
  if (windows % wide.by != 0 && beyond * wide.extent + wide.rest < extent(wide.array)) return std::nullopt;
  return (windows + wide.by - 1) / wide.by;
}

}  // namespace samite::passes
