#include "samite/passes/spread_tiles.h"

#include "samite/ir/tile_rules.h"
#include "samite/ir/visit.h"

#include <algorithm>
#include <set>

namespace samite::passes {
namespace {

using namespace ir;

constexpr std::int64_t most_spread_registers = 128, most_of_one_tile = 64, together = 4;
// A loop's body is there once for each register.
constexpr std::int64_t most_copied_statements = 4096;

struct Uses {
  bool elementwise = true;         // by loops over its own elements, loads and reductions alone
  std::optional<TileShape> shape;  // that of loads and reductions
  std::set<const For *> loops;
  std::int64_t count = 0;
  int first = 0, last = 0;  // when it is touched
  ScalarType type = ScalarType::Bool;
};

class Spreader {
 public:
  Spreader(const Kernel &kernel, TilePlacement &placement) : kernel_(kernel), placement_(placement) {
    walk(kernel.body, nullptr);
  }

  void place() {
    bool products = false;
    for_each_statement(kernel_.body, [&](const Stmt &stmt) {
      const auto *call = stmt.as<TileCall>();
      products = products || (call && call->op == Op::MatMul);
    });
    for (const auto &[array, own] : arrays_)
      if (auto known = placement_.registers.find(array); known != placement_.registers.end()) {
        registers_ += registers_of(known->second, own);
        for (const For *loop : own.loops) layout_.emplace(loop, known->second);
      }
    for (const auto &[array, own] : arrays_)
      if (own.shape && own.count >= together * kernel_.block_threads) place(array, own, layout_of(*own.shape));
    for (bool more = true; more;) {
      more = false;
      for (const auto &[array, own] : arrays_) {
        const auto loop = std::ranges::find_if(own.loops, [&](const For *l) { return layout_.contains(l); });
        if (own.shape || loop == own.loops.end()) continue;
        const Fragments layout = layout_.at(*loop);
        more = (layout.unit == Fragments::Unit::Rows && place(array, own, layout)) || more;
      }
    }
    placement_.spread_registers = products ? 0 : at_one_time();
  }

 private:
  void walk(const Block &block, const For *threads) {
    for (const Stmt &stmt : block) {
      const int begin = ++time_;
      if (auto *allocate = stmt.as<Allocate>(); allocate && allocate->shared) {
        Uses &own = arrays_[allocate->array];
        own.count = allocate->size.is_constant() ? allocate->size.as_int() : 0;
        own.type = allocate->type.element();
        own.elementwise = allocate->size.is_constant() && size_of(own.type) >= 4;
      } else if (auto *call = stmt.as<TileCall>()) {
        touch(*call);
      } else if (auto *store = stmt.as<LocalStore>()) {
        touch(store->array, store->index, threads);
      } else if (auto *let = stmt.as<Let>(); let && let->value.op == Op::LocalLoad) {
        touch(let->value.array, let->value.operands[0], threads);
      } else if (auto *branch = stmt.as<If>()) {
        walk(branch->then_block, threads);
        walk(branch->else_block, threads);
      } else if (auto *loop = stmt.as<For>()) {
        walk(loop->body, loop->kind == LoopKind::Thread ? loop : threads);
        // Each iteration of it puts what it makes in the place of what it reads: one moment.
        if (loop->kind == LoopKind::Thread) at_once(*loop, begin);
      } else if (auto *loop = stmt.as<While>()) {
        walk(loop->condition_block, threads);
        walk(loop->body, threads);
      }
      const For *loop = stmt.as<For>();
      if ((loop && loop->kind != LoopKind::Thread) || stmt.as<While>()) again(begin);
    }
  }

  // What was made before a loop is there until its last iteration has ended.
  void again(int begin) {
    const int end = ++time_;
    for (auto &[array, own] : arrays_)
      if (own.first != 0 && own.first < begin && own.last > begin) own.last = end;
  }

  void at_once(const For &loop, int begin) {
    for (auto &[array, own] : arrays_) {
      if (!own.loops.contains(&loop)) continue;
      if (own.first > begin) own.first = begin;
      if (own.last > begin) own.last = begin;
    }
  }

  void touched(Uses &own) {
    if (own.first == 0) own.first = time_;
    own.last = time_;
  }

  void touch(LocalArrayId array, const Value &index, const For *threads) {
    auto known = arrays_.find(array);
    if (known == arrays_.end()) return;
    Uses &own = known->second;
    touched(own);
    const bool own_element = threads && index.is_local() && index.id() == threads->index &&
                             threads->end.is_constant() && threads->end.as_int() == own.count;
    own.elementwise = own.elementwise && own_element;
    if (own_element) own.loops.insert(threads);
  }

  void touch(const TileCall &call) {
    as(call.result, call.op == Op::Load && call.result.type.shape().rank() <= 2);
    const bool reduction = info(call.op).typing == Typing::Reduce && (reduces_all(call) || reduces_rows(call));
    for (std::size_t i = 0; i < call.operands.size(); ++i)
      as(call.operands[i], i == 0 && reduction && call.operands.size() == 2);
  }

  void as(const TileMemory &memory, bool may_be_spread) {
    auto known = arrays_.find(memory.array);
    if (known == arrays_.end()) return;
    Uses &own = known->second;
    touched(own);
    const bool same =
        memory.type.is_tile() && (!own.shape || rows_and_columns(*own.shape) == rows_and_columns(memory.type.shape()));
    own.elementwise = own.elementwise && may_be_spread && same;
    if (memory.type.is_tile()) own.shape = memory.type.shape();
  }

  static std::pair<std::int64_t, std::int64_t> rows_and_columns(const TileShape &shape) {
    const std::int64_t columns = shape[shape.rank() - 1];
    return {shape.count() / columns, columns};
  }

  // Of all ways to lay the warps that with the fewest registers, and then with the fewest warps to a row.
  Fragments layout_of(const TileShape &shape) const {
    const auto [rows, columns] = rows_and_columns(shape);
    const std::int64_t warps = kernel_.block_threads / 32;
    std::optional<Fragments> best;
    for (std::int64_t across = 1; across <= warps; ++across) {
      if (warps % across != 0) continue;
      const Fragments tried{Fragments::Unit::Rows, rows, columns, warps / across, across};
      if (!best || tried.registers() < best->registers()) best = tried;
    }
    return *best;
  }

  static std::int64_t registers_of(const Fragments &layout, const Uses &own) {
    return layout.registers() * (size_of(own.type) == 8 ? 2 : 1);
  }

  bool place(LocalArrayId array, const Uses &own, const Fragments &wanted) {
    const bool elsewhere =
        placement_.registers.contains(array) || placement_.rows.contains(array) || placement_.stages.contains(array);
    const bool no_holes = wanted.registers() * kernel_.block_threads <= 2 * own.count;
    const bool fits = own.count == wanted.rows * wanted.columns && registers_of(wanted, own) <= most_of_one_tile &&
                      registers_ + registers_of(wanted, own) <= most_spread_registers;
    if (!own.elementwise || elsewhere || !no_holes || !fits) return false;
    if (!std::ranges::all_of(own.loops, [&](const For *loop) { return may_lie_so(*loop, wanted); })) return false;
    registers_ += registers_of(wanted, own);
    for (const For *loop : own.loops) layout_.emplace(loop, wanted);
    return placement_.registers.emplace(array, wanted).second;
  }

  std::int64_t at_one_time() const {
    std::int64_t most = 0;
    for (int time = 1; time <= time_; ++time) {
      std::int64_t registers = 0;
      for (const auto &[array, layout] : placement_.registers) {
        const Uses &own = arrays_.at(array);
        if (own.first < time && time <= own.last) registers += registers_of(layout, own);
      }
      most = std::max(most, registers);
    }
    return most;
  }

  bool may_lie_so(const For &loop, const Fragments &wanted) const {
    if (auto known = layout_.find(&loop); known != layout_.end()) return known->second == wanted;
    std::int64_t statements = 0;
    bool nested = false;
    for_each_statement(loop.body, [&](const Stmt &stmt) {
      ++statements;
      nested = nested || stmt.as<For>() || stmt.as<While>();
    });
    return !nested && statements * wanted.registers() <= most_copied_statements;
  }

  const Kernel &kernel_;
  TilePlacement &placement_;
  std::map<LocalArrayId, Uses> arrays_;
  std::map<const For *, Fragments> layout_;
  std::int64_t registers_ = 0;
  int time_ = 0;
};

}  // namespace

bool reduces_all(const TileCall &call) { return !call.result.type.is_tile() || call.result.type.count() == 1; }

bool reduces_rows(const TileCall &call) {
  if (reduces_all(call)) return false;
  const TileShape from = call.operands[0].type.shape(), to = call.result.type.shape();
  for (int d = 0; d + 1 < from.rank(); ++d)
    if (from[d] != to[d]) return false;
  return to[from.rank() - 1] == 1;
}

void spread_tiles(const Kernel &lowered, TilePlacement &placement) { Spreader(lowered, placement).place(); }

}  // namespace samite::passes
