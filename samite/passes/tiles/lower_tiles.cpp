#include "samite/passes/tiles/lower_tiles.h"

#include "samite/base/error.h"
#include "samite/ir/tile_rules.h"
#include "samite/ir/visit.h"
#include "samite/passes/tiles/arrange_loads.h"
#include "samite/passes/tiles/declared_products.h"
#include "samite/passes/tiles/element_group.h"
#include "samite/passes/tiles/recomputed_tiles.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

namespace samite::passes {
namespace {

using namespace ir;

// Bytes of a kernel: a small part of a block's shared memory on any device.
constexpr std::int64_t most_kept_in_block = 16 << 10;

class Lowerer final : public TileMemories {
 public:
  Lowerer(const Kernel &kernel, bool flat, TileLowering how)
      : flat_(flat),
        how_(how),
        threads_(kernel.block_threads),
        declared_(kernel),
        build_(kernel.local_count),
        uses_(kernel.local_count),
        tiles_(kernel.local_count) {
    for (LocalArrayId i = 0; i < kernel.local_array_count; ++i) build_.new_local_array();
    for_each_statement(kernel.body, [&](const Stmt &stmt) {
      for_each_operand(stmt, [&](const Value &value) {
        if (value.is_local()) ++uses_[value.id()];
      });
    });
    recomputed_ = recomputed_tiles(kernel.body, uses_);
    for_each_statement(kernel.body, [&](const Stmt &stmt) {
      const auto *let = stmt.as<Let>();
      multiplies_ = multiplies_ || (let && let->value.op == Op::MatMul);
    });
  }

  LoweredTiles run(Kernel kernel) {
    lower(kernel.body);
    kernel.body = build_.take();
    kernel.local_count = build_.local_count();
    kernel.local_array_count = build_.local_array_count();
    return {std::move(kernel), loads_more_};
  }

  std::optional<TileMemory> memory(const Value &tile) const override {
    const auto &known = tiles_[tile.id()].array;
    return known ? std::optional(TileMemory{*known, tile.type()}) : std::nullopt;
  }

  const Operation *made_again(const Value &tile) const override {
    const auto known = recomputed_.find(tile.id());
    return known == recomputed_.end() ? nullptr : &known->second;
  }

 private:
  struct Tile {
    std::optional<LocalArrayId> array, wanted;  // its memory; the preferred one
    std::optional<LocalId> instead_of;          // the dead tile whose memory it reuses
    int depth = 0;                              // of its definition in loops
    bool alone = true;                          // no other tile shares its memory
  };

  LocalArrayId allocate(const Type &type) {
    const LocalArrayId array = build_.new_local_array();
    build_.append(
        {Allocate{array, type.element(), Value::constant(ScalarType::Int32, type.count()), MemorySpace::shared},
         build_.where()});
    return array;
  }

  // Memory for a new tile: its own, or, if `in_place`, that of the tile that it replaces.
  LocalArrayId define(LocalId local, const Type &type, bool in_place = false) {
    Tile &tile = tiles_[local];
    tile.array = in_place && tile.wanted ? *tile.wanted : allocate(type);
    tile.depth = depth_;
    return *tile.array;
  }

  Block lowered(const Block &block) {
    Block outer = build_.open();
    lower(block);
    return build_.close(std::move(outer));
  }

  // Products load their factors as windows, whose dimensions are the array's.
  void lower(const Block &block) {
    if (!flat_ || !multiplies_)
      if (const auto loaded = with_loads_reshaped(block, uses_)) return lower_each(*loaded);
    lower_each(block);
  }
  void lower_each(const Block &block) {
    for (std::size_t i = 0; i < block.size();) i = lower_from(block, i);
  }

  // Lowers some statements from here on; returns the position after them.
  std::size_t lower_from(const Block &block, std::size_t i) {
    const Stmt &stmt = block[i];
    build_.at(stmt.where());
    if (auto *let = stmt.as<Let>(); let && let->value.op == Op::Reshape && let->value.type.is_tile()) {
      reshape(*let);
    } else if (let && is_tile_call(let->value.op)) {
      call(*let);
    } else if (tile_of(stmt)) {
      return group(block, i);
    } else {
      visit(
          stmt, [&](const If &branch) { lower_branch(branch, stmt.where()); },
          [&](const For &loop) { lower_loop(loop, stmt.where()); },
          [&](const While &loop) { lower_loop(loop, stmt.where()); },
          [&](const Allocate &allocate) { lower_allocate(allocate, stmt.where()); },
          [&](const auto &) { build_.append(stmt); });
    }
    return i + 1;
  }

  void lower_allocate(const Allocate &allocate, SourceLocation where) {
    if (!allocate.type.is_tile()) return build_.append({allocate, where});
    const Type counter = allocate.size.type();
    const Value size = build_(Op::Mul, {allocate.size, Value::constant(counter, allocate.type.count())});
    const MemorySpace space = flat_ && !fits_block(size, allocate) ? MemorySpace::device : MemorySpace::shared;
    build_.append({Allocate{allocate.array, allocate.type.element(), size, space}, where});
  }

  // Whether the tiles that a loop stores fit shared memory, like its other tiles.
  bool fits_block(const Value &size, const Allocate &allocate) {
    if (!size.is_constant()) return false;
    const auto bytes = static_cast<std::int64_t>(size_of(allocate.type.element()));
    if (size.as_int() > (most_kept_in_block - kept_in_block_) / bytes) return false;
    kept_in_block_ += size.as_int() * bytes;
    return true;
  }

  // Statements on which only scalars depend may move before the loop. On the CPU, so may a tile that does not depend on
  // the loop: two loops with only such tiles between them would pass through memory once more. A GPU's threads would
  // have to hold those tiles meanwhile.
  bool may_come_before(const Stmt &stmt, const ElementGroup &group) const {
    auto *let = stmt.as<Let>();
    if (!let) return false;
    const bool of_tiles = defines_tile(stmt);
    if (of_tiles && (flat_ || let->value.op == Op::LocalLoad)) return false;
    if (of_tiles && std::ranges::any_of(let->value.operands, [&](const Value &value) { return group.defines(value); }))
      return false;
    return info(let->value.op).pure || (let->value.op == Op::Load && !group.writes());
  }

  struct Run {
    ElementGroup group;
    std::size_t after;  // the position after its last statement
  };
  Run run_from(const Block &block, std::size_t i, std::size_t end) const {
    constexpr int most_between = 64;  // tiles: bounds the repeated search in long blocks
    Run run{ElementGroup(tile_of(block[i])->shape()), i};
    int between = 0;
    for (std::size_t next = i; next < end; ++next) {
      if (run.group.takes(block[next])) {
        run.group.add(block[next]);
        run.after = next + 1;
        continue;
      }
      if (!may_come_before(block[next], run.group)) break;
      if (defines_tile(block[next]) && ++between > most_between) break;
    }
    return run;
  }

  // A run may end with statements that it does not use, such as the transpose of a tile that is then stored elsewhere.
  // Together with their uses they need no memory: then the run ends before them.
  std::size_t end_of_run(const Block &block, std::size_t i, const Run &run) const {
    constexpr std::size_t most = 16;  // statements that are tried
    std::size_t first = run.after;
    const auto may_be_left = [&](const Stmt &stmt) { return run.group.has(stmt) && is_pure_tile(stmt); };
    while (first > i + 1 && run.after - first < most && may_be_left(block[first - 1])) --first;
    if (first == run.after || run_from(block, run.after - 1, block.size()).after <= run.after) return run.after;
    for (; first < run.after; ++first) {
      const Run rest = run_from(block, first, block.size());
      if (rest.after <= run.after) continue;
      const Run kept = run_from(block, i, first);
      if (kept.after == first && stands_alone(block, first, run.after, kept.group, rest.group)) return first;
    }
    return run.after;
  }

  // Whether the statements read no results of `before`, and only `after` reads their results.
  bool stands_alone(const Block &block, std::size_t first, std::size_t end, const ElementGroup &before,
                    const ElementGroup &after) const {
    const auto inside = after.uses();
    for (std::size_t n = first; n < end; ++n) {
      bool reads_before = false;
      for_each_operand(block[n], [&](const Value &value) { reads_before = reads_before || before.defines(value); });
      const LocalId local = block[n].as<Let>()->local;
      const auto uses = inside.find(local);
      if (reads_before || uses == inside.end() || uses->second != uses_[local]) return false;
    }
    return true;
  }

  std::size_t group(const Block &block, std::size_t i) {
    Run run = run_from(block, i, block.size());
    if (const std::size_t end = end_of_run(block, i, run); end < run.after) run = run_from(block, i, end);
    Block before;
    for (std::size_t n = i; n < run.after; ++n)
      if (!run.group.has(block[n])) before.push_back(block[n]);
    lower(before);
    write(run.group, tile_of(block[i])->shape(), block[i].where());
    return run.after;
  }

  void write(const ElementGroup &group, TileShape shape, SourceLocation where) {
    std::map<LocalId, int> uses_inside = group.uses();
    std::vector<std::pair<Value, TileMemory>> kept;
    std::set<const Stmt *> loaded, again;
    for (const Stmt *stmt : group.statements()) {
      auto *let = stmt->as<Let>();
      const bool ahead = let && taken_ahead_.contains(let->local);
      if (!let || (uses_inside[let->local] == uses_[let->local] && !ahead)) continue;
      if (recomputed_.contains(let->local)) {
        again.insert(stmt);
        continue;
      }
      const bool as_it_is = flat_ && uses_inside[let->local] == 0 && loads_window(*let) && !group.writes();
      loads_more_ = loads_more_ || (ahead && !as_it_is);
      if (ahead || as_it_is) {
        build_.at(stmt->where());
        const TileMemory to{define(let->local, let->value.type), let->value.type};
        build_.append({TileLoad{to, let->value.array, let->value.operands}, stmt->where()});
        loaded.insert(stmt);
        loaded_.insert(let->local);
        continue;
      }
      // It may replace another tile only if that is read at the same elements, for the last time.
      const auto &instead_of = tiles_[let->local].instead_of;
      const bool in_place = instead_of && read_here_alone(*instead_of, group, uses_inside);
      const LocalArrayId array = define(let->local, let->value.type, in_place);
      kept.push_back({Value::local(let->value.type, let->local), {array, let->value.type}});
    }
    if (loaded.size() + again.size() == group.statements().size()) return;
    if (loaded.size() + again.size() + 1 == group.statements().size() && kept.size() == 1)
      if (const auto from = cast_of_loaded(group.statements(), kept[0].first)) {
        build_.append({TileCall{Op::Cast, 0, kept[0].second, {*from}}, where});
        return;
      }
    TileLoop loop(build_, *this, shape, flat_, group.with_coordinates(*this));
    for (const Stmt *stmt : group.statements()) {
      if (loaded.contains(stmt) || again.contains(stmt)) continue;
      visit(
          *stmt, [&](const Let &let) { loop.operation(let, stmt->where()); },
          [&](const Store &store) { loop.store(store, stmt->where()); },
          [&](const Accumulate &accumulate) { loop.accumulate(accumulate, stmt->where()); },
          [&](const LocalStore &store) { loop.local_store(store, stmt->where()); },
          [](const auto &) { throw InternalError("a statement that is not about a tile"); });
    }
    for (const auto &[tile, memory] : kept) loop.keep(tile, memory);
    loop.close(where, how_.in_order && group.adds_by_index() ? LoopKind::Serial : LoopKind::Thread);
  }

  // The prefetched memory, if `tile` is its cast to 16 bits: whole units are cast at once.
  std::optional<TileMemory> cast_of_loaded(const std::vector<const Stmt *> &group, const Value &tile) const {
    for (const Stmt *stmt : group) {
      auto *let = stmt->as<Let>();
      if (!let || let->local != tile.id() || let->value.op != Op::Cast) continue;
      const Value &from = let->value.operands[0];
      const ScalarType to = tile.type().element();
      const bool narrows =
          from.type().element() == ScalarType::Float32 && (to == ScalarType::Float16 || to == ScalarType::BFloat16);
      if (narrows && from.is_local() && taken_ahead_.contains(from.id())) return memory(from);
    }
    return std::nullopt;
  }

  bool read_here_alone(LocalId tile, const ElementGroup &group, std::map<LocalId, int> &uses_inside) const {
    if (uses_inside[tile] != uses_[tile]) return false;
    return std::ranges::none_of(group.statements(), [&](const Stmt *stmt) {
      auto *let = stmt->as<Let>();
      return let && moves_elements(let->value.op) && let->value.operands[0].is_local() &&
             let->value.operands[0].id() == tile;
    });
  }

  // A value in memory: in its own, or in new memory with a constant.
  TileMemory in_memory(const Value &value) {
    if (value.is_local() && value.type().is_tile()) {
      const auto known = memory(value);
      internal_check(known.has_value(), "a tile is needed that is not in memory");
      return *known;
    }
    const TileMemory place{allocate(value.type()), value.type()};
    fill(place, value);
    return place;
  }

  // A loop that copies a tile.
  void fill(const TileMemory &to, const Value &value) {
    TileLoop loop(build_, *this, to.type.shape(), flat_, false);
    loop.keep(value, to);
    loop.close(build_.where());
  }

  void reshape(const Let &let) {
    const Value &from = let.value.operands[0];
    tiles_[let.local].array = in_memory(from).array;
    tiles_[let.local].depth = depth_;
    const bool alone = from.is_local() && uses_[from.id()] == 1 && tiles_[from.id()].alone;
    tiles_[let.local].alone = alone;
    if (from.is_local() && !alone) tiles_[from.id()].alone = false;
  }

  // If a block has more threads than a reduction has results, several warps compute parts of a result.
  std::optional<Type> scratch_of(const Operation &operation) const {
    constexpr std::int64_t most = 1024;
    if (flat_ && sorts_by_counting(operation)) return sort_counters(operation, threads_);
    if (!flat_ || info(operation.op).typing != Typing::Reduce) return std::nullopt;
    const std::int64_t parts = operation.type.count() * (threads_ / 32);
    const bool large = operation.operands[0].type().count() >= std::int64_t{4} * threads_;
    if (!large || parts > most) return std::nullopt;
    // Parts of 16-bit sums have 32 bits, like the threads' partial sums.
    const ScalarType element = operation.type.element();
    const bool small = is_floating(element) && size_of(element) <= 2;
    return Type(small ? ScalarType::Float32 : element, TileShape{parts});
  }

  void call(const Let &let) {
    const Operation &operation = let.value;
    if (operation.op == Op::MatMul) return product(let);
    std::vector<TileMemory> from;
    for (const Value &operand : operation.operands) from.push_back(in_memory(operand));
    // A transform goes from memory to memory, step by step.
    if (operation.op == Op::Fourier) from.push_back({allocate(operation.type), operation.type});
    if (const auto scratch = scratch_of(operation)) from.push_back({allocate(*scratch), *scratch});
    const TileMemory to{operation.type.is_tile() ? define(let.local, operation.type) : allocate(operation.type),
                        operation.type};
    const auto attribute = operation.op == Op::PutAdd && how_.in_order ? put_in_order : operation.attribute;
    build_.append({TileCall{operation.op, attribute, to, std::move(from)}, build_.where()});
    if (operation.type.is_tile()) return;
    build_.append(
        {Let{let.local, {Op::LocalLoad, operation.type, {Value::zero(ScalarType::Int32)}, to.array}}, build_.where()});
  }

  // Whether the only statement that reads a tile may overwrite its memory.
  bool may_overwrite(const Value &tile) const {
    if (!tile.is_local()) return false;
    const Tile &known = tiles_[tile.id()];
    return uses_[tile.id()] == 1 && known.alone && known.array && known.depth == depth_;
  }

  // Adds to the third operand, or to a copy of it.
  void product(const Let &let) {
    const Operation &operation = let.value;
    const TileMemory a = in_memory(operation.operands[0]), b = in_memory(operation.operands[1]);
    const Value &added = operation.operands[2];
    TileMemory sum{0, operation.type};
    if (may_overwrite(added)) {
      sum.array = *tiles_[added.id()].array;
      tiles_[let.local].array = sum.array;
      tiles_[let.local].depth = depth_;
    } else {
      sum.array = define(let.local, operation.type);
      fill(sum, added);
    }
    build_.append({TileCall{operation.op, operation.attribute, sum, {a, b}}, build_.where()});
  }

  void copy_into(LocalArrayId array, const Value &value) {
    if (value.is_local() && memory(value)->array == array) return;
    fill({array, value.type()}, value);
  }

  void lower_branch(const If &branch, SourceLocation where) {
    If lowered_branch{branch.condition, {}, {}, {}};
    std::vector<std::pair<const BranchResult *, LocalArrayId>> tiles;
    for (const BranchResult &result : branch.results) {
      if (result.type.is_tile())
        tiles.emplace_back(&result, define(result.local, result.type));
      else
        lowered_branch.results.push_back(result);
    }
    auto side = [&](const Block &block, Value BranchResult::*chosen) {
      Block outer = build_.open();
      lower(block);
      build_.at(where);
      for (const auto &[result, array] : tiles) copy_into(array, result->*chosen);
      return build_.close(std::move(outer));
    };
    lowered_branch.then_block = side(branch.then_block, &BranchResult::then_value);
    lowered_branch.else_block = side(branch.else_block, &BranchResult::else_value);
    build_.append({std::move(lowered_branch), where});
  }

  // A loop-carried tile, with its one place in memory.
  struct CarriedTile {
    const Carried *value;
    LocalArrayId array;
  };
  std::vector<CarriedTile> enter(const std::vector<Carried> &carried, const Block &body,
                                 std::vector<Carried> &scalars) {
    std::vector<CarriedTile> tiles;
    for (const Carried &c : carried) {
      if (!c.type.is_tile()) {
        scalars.push_back(c);
        continue;
      }
      LocalArrayId array = 0;
      if (may_overwrite(c.initial)) {
        array = *tiles_[c.initial.id()].array;
      } else {
        array = allocate(c.type);
        fill({array, c.type}, c.initial);
      }
      tiles_[c.inner].array = tiles_[c.result].array = array;
      tiles_[c.inner].depth = depth_ + 1;
      tiles_[c.result].depth = depth_;
      if (c.next.is_local() && c.next.id() != c.inner && uses_of_next(carried, c.next) == 1) {
        const LocalId made = scaled_sum(body, c).value_or(c.next.id());
        tiles_[made].wanted = array;
        tiles_[made].instead_of = c.inner;
      }
      tiles.push_back({&c, array});
    }
    return tiles;
  }

  // The initial sum of a product, if it is computed element by element from a carried tile, such as a rescaled sum: in
  // the carried tile's memory it needs none, and the product is added there.
  std::optional<LocalId> scaled_sum(const Block &body, const Carried &carried) const {
    for (const Stmt &stmt : body) {
      const auto *let = stmt.as<Let>();
      if (!let || let->local != carried.next.id() || let->value.op != Op::MatMul) continue;
      const Value &added = let->value.operands[2];
      if (added.is_local() && added.id() != carried.inner && uses_[added.id()] == 1) return added.id();
    }
    return std::nullopt;
  }

  static std::ptrdiff_t uses_of_next(const std::vector<Carried> &carried, const Value &next) {
    return std::ranges::count_if(carried, [&](const Carried &c) { return c.next == next; });
  }

  // At the end of an iteration. The new value of one tile may be the old value of another.
  void advance(const std::vector<CarriedTile> &tiles) {
    std::vector<std::pair<CarriedTile, Value>> moves;
    for (const CarriedTile &tile : tiles) {
      Value next = tile.value->next;
      if (next.is_local() && memory(next)->array == tile.array) continue;
      const bool another = next.is_local() && std::ranges::any_of(tiles, [&](const CarriedTile &other) {
                             return memory(next)->array == other.array;
                           });
      if (another) {
        const auto copy = static_cast<LocalId>(tiles_.size());
        const LocalArrayId array = allocate(next.type());
        fill({array, next.type()}, next);
        tiles_.emplace_back();
        tiles_.back().array = array;
        moves.emplace_back(tile, Value::local(next.type(), copy));
      } else {
        moves.emplace_back(tile, next);
      }
    }
    for (const auto &[tile, next] : moves) fill({tile.array, tile.value->type}, next);
  }

  // With prefetched factors, if there are any.
  Block body_of(const For &loop) {
    if (!flat_ || !how_.loads_ahead) return loop.body;
    LoadsAhead ahead = with_loads_ahead(loop, uses_);
    taken_ahead_.merge(ahead.loads);
    const auto same = [](const Stmt &a, const Stmt &b) { return &a.kind() == &b.kind(); };
    loads_more_ = loads_more_ || !std::ranges::equal(ahead.body, loop.body, same);
    return std::move(ahead.body);
  }

  // The body, followed by the assignments of the carried tiles.
  Block iteration(const Block &body, const std::vector<CarriedTile> &tiles, SourceLocation where) {
    Block outer = build_.open();
    lower(body);
    build_.at(where);
    advance(tiles);
    return build_.close(std::move(outer));
  }

  void lower_loop(const For &loop, SourceLocation where) {
    For lowered_loop{loop.index, loop.type, loop.begin, loop.end, loop.step, {}, {}, loop.kind, loop.stages};
    const auto tiles = enter(loop.carried, loop.body, lowered_loop.carried);
    ++depth_;
    lowered_loop.body = iteration(body_of(loop), tiles, where);
    --depth_;
    if (flat_) lowered_loop.products = declared_.of(loop, lowered_loop, *this, loaded_);
    build_.append({std::move(lowered_loop), where});
  }

  void lower_loop(const While &loop, SourceLocation where) {
    While lowered_loop{{}, loop.condition, {}, {}};
    const auto tiles = enter(loop.carried, loop.body, lowered_loop.carried);
    ++depth_;
    lowered_loop.condition_block = lowered(loop.condition_block);
    lowered_loop.body = iteration(loop.body, tiles, where);
    --depth_;
    build_.append({std::move(lowered_loop), where});
  }

  bool flat_;  // a loop over elements is a single one, not nested ones
  bool multiplies_ = false;
  TileLowering how_;
  int threads_;
  const DeclaredProducts declared_;
  Builder build_;
  std::vector<int> uses_;
  std::vector<Tile> tiles_;  // by local
  std::map<LocalId, Operation> recomputed_;
  std::set<LocalId> taken_ahead_;  // prefetched loads
  std::set<LocalId> loaded_;       // tiles that loads fill
  bool loads_more_ = false;        // as in LoweredTiles
  int depth_ = 0;
  std::int64_t kept_in_block_ = 0;  // bytes
};

}  // namespace

LoweredTiles lower_tiles_and_tell(Kernel structured, const Architecture &architecture, TileLowering how) {
  if (!is_tile_kernel(structured)) return {std::move(structured)};
  Lowerer lowerer(structured, architecture.blocks_have_threads(), how);
  return lowerer.run(std::move(structured));
}

Kernel lower_tiles(Kernel structured, const Architecture &architecture, TileLowering how) {
  return lower_tiles_and_tell(std::move(structured), architecture, how).kernel;
}

}  // namespace samite::passes
