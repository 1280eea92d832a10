#include "samite/passes/tiles/spread_tiles.h"

#include "samite/ir/visit.h"
#include "samite/passes/analysis/tile_uses.h"
#include "samite/passes/simplify/rewrite.h"
#include "samite/passes/tiles/place_tiles.h"

#include <algorithm>
#include <map>
#include <set>

namespace samite::passes {
namespace {

using namespace ir;

constexpr std::int64_t most_spread_registers = 128, most_of_one_tile = 64, elements_together = 4;
// Values of each thread that count among its other needs. More of them take registers, in units of eight.
constexpr std::int64_t few_values = 2;
// A loop's body is copied for each register.
constexpr std::int64_t most_copied_statements = 4096;

struct Candidate {
  bool elementwise;                // only by loops over its own elements, loads and reductions
  std::optional<TileShape> shape;  // that of loads and reductions
  std::set<LocalId> loops;
  TileLife life;
};

class Spreader {
 public:
  explicit Spreader(const Kernel &kernel) : uses_(kernel), threads_(kernel.block_threads) {
    for (const LoopSpan &span : uses_.loops)
      if (span.over_elements) loops_.emplace(span.loop->as<For>()->index, span);
    const std::map<LocalArrayId, TileLife> lives = passes::lives(uses_);
    for (const auto &[array, use] : uses_.arrays) candidates_.emplace(array, candidate(use, lives.at(array)));
  }

  std::map<LocalArrayId, FragmentLayout> place() {
    for (const auto &[array, own] : candidates_)
      if (auto *known = std::get_if<FragmentLayout>(&uses_.arrays.at(array).allocation->layout)) {
        for (const LocalId loop : own.loops) of_loop_.emplace(loop, *known);
        all_.emplace(array, *known);
      }
    for (const auto &[array, own] : candidates_)
      if (own.shape && count_of(array) >= elements_together * threads_) place(array, own, layout_of(*own.shape));
    for (bool more = true; more;) {
      more = false;
      for (const auto &[array, own] : candidates_) {
        const auto loop = std::ranges::find_if(own.loops, [&](LocalId l) { return of_loop_.contains(l); });
        if (own.shape || loop == own.loops.end()) continue;
        const FragmentLayout layout = of_loop_.at(*loop);
        more = (layout.unit == FragmentLayout::Unit::rows && place(array, own, layout)) || more;
      }
    }
    return spread_;
  }

  // Total reductions of spread tiles, which each thread then has; and values that loops over one element compute only
  // from these.
  const std::set<LocalArrayId> &find_values_of_every_thread() {
    std::set<LocalArrayId> &may = in_every_thread_;
    for (const auto &[array, use] : uses_.arrays)
      if (use.count() == 1 && is_anywhere(use) && (use.operands.empty() || is_reduced_to(use))) may.insert(array);
    for (std::size_t before = may.size() + 1; before != may.size();) {
      before = may.size();
      std::erase_if(may, [&](LocalArrayId array) {
        return std::ranges::any_of(uses_.arrays.at(array).touches, [&](const TileTouch &touch) {
          return !touch.loads && !(touch.own_element && each_thread_may(*touch.threads, may));
        });
      });
    }
    return may;
  }

  // The largest number of a thread's registers for all tiles.
  std::int64_t registers_at_one_time() const { return registers_beside({0, uses_.end}); }

 private:
  // The same during a live range.
  std::int64_t registers_beside(TileLife life) const {
    std::int64_t most = 0;
    for (int time = life.first + 1; time <= life.last; ++time) {
      std::int64_t registers = 0;
      for (const auto &[array, layout] : all_)
        if (candidates_.at(array).life.at(time)) registers += registers_of(layout, type_of(array));
      std::int64_t values = 0;
      for (const LocalArrayId array : in_every_thread_)
        if (candidates_.at(array).life.at(time)) values += size_of(type_of(array)) == 8 ? 2 : 1;
      registers += (std::max(values - few_values, std::int64_t{0}) + 7) / 8 * 8;
      most = std::max(most, registers);
    }
    return most;
  }

  ScalarType type_of(LocalArrayId array) const { return uses_.arrays.at(array).type(); }
  std::int64_t count_of(LocalArrayId array) const { return uses_.arrays.at(array).count(); }

  static Candidate candidate(const TileUse &use, TileLife life) {
    // Computed tiles may have 16 bits, but not those that others load.
    const bool wide = size_of(use.type()) >= (use.operands.empty() ? 2 : 4);
    Candidate own{use.by_own_elements() && wide && !use.is_brought(), {}, use.loops(), life};
    for (const TileOperand &operand : use.operands) call(operand, own);
    return own;
  }

  static void call(const TileOperand &operand, Candidate &own) {
    const TileCall *call = operand.call();
    const Type &type = operand.tile->type;
    const bool reduction =
        call && info(call->op).typing == Typing::Reduce && (reduces_all(*call) || reduces_rows(*call));
    const bool may_be_spread = operand.is_result() ? operand.statement->as<TileLoad>() && type.shape().rank() <= 2
                                                   : operand.is_first() && reduction && call->operands.size() == 2;
    const bool same = type.is_tile() && (!own.shape || rows_and_columns(*own.shape) == rows_and_columns(type.shape()));
    own.elementwise = own.elementwise && may_be_spread && same;
    if (type.is_tile()) own.shape = type.shape();
  }

  static bool is_anywhere(const TileUse &use) {
    return use.allocation->stages == 1 && std::holds_alternative<LinearLayout>(use.allocation->layout) &&
           use.allocation->space == MemorySpace::shared && !use.is_brought();
  }
  // Whether all threads may run a loop over one element redundantly.
  static bool each_thread_may(const For &loop, const std::set<LocalArrayId> &in_every_thread) {
    return std::ranges::all_of(loop.body, [&](const Stmt &stmt) {
      if (const auto array = local_array_touched(stmt)) return in_every_thread.contains(*array);
      const auto *let = stmt.as<Let>();
      return let && info(let->value.op).pure;
    });
  }

  bool is_reduced_to(const TileUse &use) const {
    if (use.operands.size() != 1) return false;
    const TileOperand &made = use.operands.front();
    const TileCall *call = made.call();
    if (!made.is_result() || !call || info(call->op).typing != Typing::Reduce || call->operands.size() != 2)
      return false;
    const auto reduced = all_.find(call->operands[0].array);
    return reduced != all_.end() && reduced->second.unit == FragmentLayout::Unit::rows;
  }

  static std::pair<std::int64_t, std::int64_t> rows_and_columns(const TileShape &shape) {
    const std::int64_t columns = shape[shape.rank() - 1];
    return {shape.count() / columns, columns};
  }

  // The arrangement of the warps with the fewest registers, and then with the fewest warps in a row.
  FragmentLayout layout_of(const TileShape &shape) const {
    const auto [rows, columns] = rows_and_columns(shape);
    const std::int64_t warps = threads_ / 32;
    std::optional<FragmentLayout> best;
    for (std::int64_t across = 1; across <= warps; ++across) {
      if (warps % across != 0) continue;
      const FragmentLayout tried{FragmentLayout::Unit::rows, rows, columns, warps / across, across};
      if (!best || tried.registers() < best->registers()) best = tried;
    }
    return *best;
  }

  bool place(LocalArrayId array, const Candidate &own, const FragmentLayout &wanted) {
    const Allocate &allocation = *uses_.arrays.at(array).allocation;
    const std::int64_t registers = registers_of(wanted, type_of(array));
    const bool elsewhere =
        !std::holds_alternative<LinearLayout>(allocation.layout) || allocation.stages > 1 || spread_.contains(array);
    const bool no_holes = wanted.registers() * threads_ <= 2 * count_of(array);
    const bool fits = count_of(array) == wanted.rows * wanted.columns && registers <= most_of_one_tile &&
                      registers_beside(own.life) + registers <= most_spread_registers;
    if (!own.elementwise || elsewhere || !no_holes || !fits) return false;
    if (!std::ranges::all_of(own.loops, [&](LocalId loop) { return may_lie_so(loop, wanted); })) return false;
    for (const LocalId loop : own.loops) of_loop_.emplace(loop, wanted);
    all_.emplace(array, wanted);
    return spread_.emplace(array, wanted).second;
  }

  bool may_lie_so(LocalId index, const FragmentLayout &wanted) const {
    if (auto known = of_loop_.find(index); known != of_loop_.end()) return known->second == wanted;
    std::int64_t statements = 0;
    bool nested = false;
    for_each_statement(loops_.at(index).loop->as<For>()->body, [&](const Stmt &stmt) {
      ++statements;
      nested = nested || stmt.as<For>() || stmt.as<While>();
    });
    return !nested && statements * wanted.registers() <= most_copied_statements;
  }

  TileUses uses_;
  int threads_;
  std::map<LocalId, LoopSpan> loops_;  // over elements, by their index
  std::map<LocalArrayId, Candidate> candidates_;
  std::map<LocalId, FragmentLayout> of_loop_;
  std::map<LocalArrayId, FragmentLayout> all_, spread_;
  std::set<LocalArrayId> in_every_thread_;
};

int resident_blocks(std::int64_t registers, int threads, const Architecture &architecture) {
  constexpr std::int64_t beside = 32;
  if (registers == 0) return 0;
  return static_cast<int>(std::clamp<std::int64_t>(architecture.registers / (threads * (registers + beside)), 1,
                                                   architecture.threads / threads));
}

}  // namespace

bool has_products(const Kernel &kernel) {
  bool found = false;
  for_each_statement(kernel.body, [&](const Stmt &stmt) { found = found || multiplies(stmt); });
  return found;
}

bool reduces_all(const TileCall &call) { return !call.result.type.is_tile() || call.result.type.count() == 1; }

bool reduces_rows(const TileCall &call) {
  if (reduces_all(call)) return false;
  const TileShape from = call.operands[0].type.shape(), to = call.result.type.shape();
  for (int d = 0; d + 1 < from.rank(); ++d)
    if (from[d] != to[d]) return false;
  return to[from.rank() - 1] == 1;
}

bool reduces_columns(const TileCall &call) {
  if (reduces_all(call)) return false;
  const TileShape from = call.operands[0].type.shape(), to = call.result.type.shape();
  return from.rank() == 2 && to.rank() == 2 && from[0] != 1 && to[0] == 1 && to[1] == from[1];
}

Kernel spread_tiles(Kernel placed, const Architecture &architecture) {
  if (!is_tile_kernel(placed) || !architecture.blocks_have_threads() || placed.sums_in_shared) return placed;
  Spreader spreader(placed);
  const std::map<LocalArrayId, FragmentLayout> spread = spreader.place();
  const std::set<LocalArrayId> in_every_thread = spreader.find_values_of_every_thread();
  const FragmentLayout everywhere{FragmentLayout::Unit::everywhere, 1, 1, 1, placed.block_threads / 32};
  const std::int64_t registers = has_products(placed) ? 0 : spreader.registers_at_one_time();
  placed.grid.resident_blocks = resident_blocks(registers, placed.block_threads, architecture);
  placed.body = rewrite(placed.body, [&](const Stmt &stmt) -> Stmt {
    auto *allocate = stmt.as<Allocate>();
    const bool one = allocate && in_every_thread.contains(allocate->array);
    if (!one && (!allocate || !spread.contains(allocate->array))) return stmt;
    Allocate own = *allocate;
    own.space = MemorySpace::registers;
    own.layout = one ? everywhere : spread.at(allocate->array);
    return {own, stmt.where()};
  });
  return placed;
}

}  // namespace samite::passes
