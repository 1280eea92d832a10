#include "samite/passes/tiles/place_tiles.h"

#include "samite/ir/tile_rules.h"
#include "samite/ir/visit.h"
#include "samite/passes/analysis/index_forms.h"
#include "samite/passes/analysis/row_values.h"
#include "samite/passes/analysis/tile_uses.h"
#include "samite/passes/simplify/rewrite.h"
#include "samite/passes/tiles/spread_tiles.h"

#include <algorithm>
#include <map>
#include <set>

namespace samite::passes {
namespace {

using namespace ir;
using enum FragmentLayout::Unit;

constexpr std::int64_t most_registers = 128;      // of a thread, for sums
constexpr std::int64_t most_of_two_groups = 192;  // if producers give their registers to the consumers (assign_roles.h)
constexpr std::int64_t most_row_registers = 8;    // of a thread, for values of rows, in addition
constexpr int warp = 32;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

std::optional<FragmentLayout::Unit> unit_of(const TileCall &product, const Architecture &architecture) {
  const ScalarType factor = product.operands[0].type.element(), sum = product.result.type.element();
  const bool tf32 = product.attribute & tf32_factors;
  for (const Multiplication &row : architecture.multiplications)
    if (row.factor == factor && row.sum == sum && (!row.tf32 || tf32)) return row.unit;
  return std::nullopt;
}

Reading reading_of(const TileCall &product, std::size_t operand, const FragmentLayout &fragments) {
  const bool transposed = product.attribute & (operand == 0 ? transposed_a : transposed_b);
  const bool along_terms = (operand == 0) != transposed;
  const bool tf32 = product.attribute & tf32_factors;
  const bool threads = fragments.unit == fours || fragments.unit == singles;
  if (threads && (operand == 0 || !along_terms)) return Reading::OneRow;
  return tf32 && !along_terms ? Reading::PairsOfFour : Reading::Several;
}

std::int64_t columns_of(const Type &type) { return type.is_tile() ? type.shape()[type.shape().rank() - 1] : 1; }

// The uses of a tile by calls and loops.
struct Demands {
  bool elementwise = true;  // only by loops over its own elements, and as the sums of products
  bool factor = false, other_call = false;
  bool reduced = false;                  // each of its rows
  bool reduced_in_parts = true;          // wherever it is placed, with memory for the partial results of several warps
  bool columns_reduced = false;          // each of them
  std::vector<FragmentLayout> products;  // that it is the sums of
  std::vector<const WindowProduct *> firsts;  // products of it with loaded windows
  std::optional<Type> factor_type;
  std::set<std::int64_t> columns;    // of its uses by calls, which differ if it is reshaped
  std::optional<Reading> reading;    // by products
  std::optional<std::int64_t> step;  // between the reads of neighbouring threads in a loop
};

class Placer {
 public:
  Placer(const Kernel &kernel, const Architecture &architecture)
      : uses_(kernel),
        lives_(lives(uses_)),
        forms_(kernel),
        threads_(kernel.block_threads),
        architecture_(architecture) {
    for (const auto &[array, use] : uses_.arrays) demands_.emplace(array, demands_of(use));
    bool steps = false;
    for_each_statement(kernel.body,
                       [&](const Stmt &stmt) { steps = steps || stmt.as<WindowProduct>() || stmt.as<StageProduct>(); });
    if (steps && threads_ == 2 * piece_of(group_matrices).threads) most_sums_ = most_of_two_groups;
  }

  std::map<LocalArrayId, Layout> place(bool in_registers) {
    if (in_registers) {
      place_in_registers();
      place_values_of_rows();
    }
    place_rows();
    return std::move(layouts_);
  }

 private:
  Demands demands_of(const TileUse &use) const {
    Demands own;
    own.elementwise = use.by_own_elements();
    for (const TileTouch &touch : use.touches)
      if (touch.loads && touch.threads) note_step(touch, own);
    for (const TileOperand &operand : use.operands) demand(operand, own);
    return own;
  }

  // The distance between consecutive elements of a loop, if only the loop determines it.
  void note_step(const TileTouch &touch, Demands &own) const {
    const Symbol element = Symbol::local(touch.threads->index);
    const Affine place = forms_(touch.index).form, first = place.substitute(element, 0);
    const Affine step = place.substitute(element, 1) - first;
    if (!first.is_constant() || !step.is_constant() || step.constant() <= 1) return;
    own.step = std::max(own.step.value_or(0), step.constant());
  }

  void demand(const TileOperand &operand, Demands &own) const {
    const TileCall *call = operand.call();
    const auto *product = operand.statement->as<WindowProduct>();
    std::optional<FragmentLayout> served;
    if (call && call->op == Op::MatMul)
      served = fragments(*call, threads_, architecture_);
    else if (!call && multiplies(*operand.statement))
      served = *layout_of_sums(*operand.statement);
    own.columns.insert(columns_of(operand.tile->type));
    if (operand.is_result()) {
      if (served)
        own.products.push_back(*served);
      else
        own.elementwise = false;
      own.other_call = own.other_call || !(operand.statement->as<TileLoad>() || (call && call->op == Op::Cast));
      return;
    }
    const bool reduces = call && info(call->op).typing == Typing::Reduce && operand.is_first();
    if (reduces && reduces_rows(*call)) {
      own.reduced = own.other_call = true;
      own.reduced_in_parts = own.reduced_in_parts && call->operands.size() == 2;
      return;
    }
    if (reduces && reduces_columns(*call) && call->result.type.element() == operand.tile->type.element()) {
      own.columns_reduced = own.other_call = true;
      return;
    }
    if (product && operand.is_first()) return own.firsts.push_back(product);
    own.elementwise = false;
    if (!call) return;
    if (served && (!own.factor_type || own.factor_type == operand.tile->type)) {
      const Reading reading = reading_of(*call, operand.operand, *served);
      own.reading = own.reading.value_or(reading) == reading ? reading : Reading::Several;
      own.factor = true, own.factor_type = operand.tile->type;
    } else {
      own.other_call = true;
    }
  }

  // Registers of a thread, which the sums leave fewer of. If all elements of a row have one value, such as the row's
  // scale, it keeps one for each of its few rows.
  static std::int64_t registers_of(const TileUse &use, const FragmentLayout &layout) {
    // A 16-bit factor is packed in pairs when it is multiplied.
    const std::int64_t of_elements = passes::registers_of(layout, use.type()) / (size_of(use.type()) == 2 ? 2 : 1);
    if (!use.operands.empty()) return of_elements;
    for (const TileTouch &touch : use.touches) {
      if (touch.loads) continue;
      const auto values = touch.threads ? row_values(*touch.threads, layout) : std::nullopt;
      if (!values || values->rows > most_row_registers) return of_elements;
      if (!stores_one_of(*values, touch.threads->body, use.allocation->array)) return of_elements;
    }
    return 0;
  }
  static bool stores_one_of(const RowValues &values, const Block &body, LocalArrayId array) {
    const auto is_store = [&](const Stmt &stmt) {
      const auto *store = stmt.as<LocalStore>();
      return store && store->array == array;
    };
    const auto is_of_row = [&](const Stmt &stmt) {
      const Value &value = stmt.as<LocalStore>()->value;
      return std::ranges::any_of(values.results,
                                 [&](const auto &result) { return value.is_local() && value.id() == result.first; });
    };
    std::ptrdiff_t stores = 0;  // including conditional ones
    for_each_statement(body, [&](const Stmt &stmt) { stores += is_store(stmt); });
    return stores == std::ranges::count_if(body, [&](const Stmt &stmt) { return is_store(stmt) && is_of_row(stmt); });
  }

  bool in_registers(LocalArrayId array) const { return layouts_.contains(array); }
  // The largest number of a thread's registers that others take while this array is live.
  std::int64_t registers_beside(LocalArrayId array) const {
    const TileLife own = lives_.at(array);
    std::int64_t most = 0;
    for (int time = own.first + 1; time <= own.last; ++time) {
      std::int64_t registers = 0;
      for (const auto &[other, taken] : registers_)
        if (lives_.at(other).at(time)) registers += taken;
      most = std::max(most, registers);
    }
    return most;
  }
  // The rings of a main loop, which have the layout of its copies.
  static bool is_placed(const TileUse &use) {
    return !std::holds_alternative<LinearLayout>(use.allocation->layout) || use.is_brought();
  }

  // The number of arrays that a loop over elements accesses.
  std::size_t touched_by(LocalId loop) const {
    return static_cast<std::size_t>(
        std::ranges::count_if(uses_.arrays, [&](const auto &own) { return own.second.loops().contains(loop); }));
  }

  // Whether a tile could be in registers if there were enough.
  bool may_lie_so(LocalArrayId array, const FragmentLayout &wanted) const {
    const TileUse &use = uses_.arrays.at(array);
    const Demands &own = demands_.at(array);
    const bool may_be = own.firsts.empty() ? size_of(use.type()) >= 4 : may_be_first_factor(own, wanted);
    return own.elementwise && use.count() == wanted.rows * wanted.columns && may_be &&
           (!own.reduced || wanted.across == 1 || own.reduced_in_parts) &&
           (!own.columns_reduced || lanes_share_columns(wanted)) &&
           std::ranges::all_of(own.products, [&](const FragmentLayout &f) { return f == wanted; });
  }
  // As in the reductions of device/tile/cuda_spread.h.
  static bool lanes_share_columns(const FragmentLayout &sums) {
    return sums.unit == matrices || sums.unit == group_matrices || sums.unit == fours || sums.unit == singles;
  }
  // Rows of the sums are those of the first factor, whose terms a warp group holds like sums.
  static bool may_be_first_factor(const Demands &own, const FragmentLayout &wanted) {
    return wanted.unit == group_matrices && wanted.across == 1 &&
           std::ranges::all_of(own.firsts, [&](const WindowProduct *product) {
             const TileShape shape = product->first.type.shape();
             return !(product->attribute & transposed_a) && product->sums.across == 1 &&
                    product->sums.down == wanted.down && shape[0] == wanted.rows && shape[1] == wanted.columns;
           });
  }

  // Whether all tiles whose own elements a loop reads could have this layout.
  bool reads_what_may_lie_so(LocalId loop, const FragmentLayout &wanted) const {
    return std::ranges::all_of(uses_.arrays, [&](const auto &own) {
      const bool read = std::ranges::any_of(own.second.touches, [&](const TileTouch &touch) {
        return touch.loads && touch.own_element && touch.threads->index == loop;
      });
      return !read || may_lie_so(own.first, wanted);
    });
  }

  // Propagates from the sums of products to the tiles of loops over them, as long as no loop has two layouts. Other
  // loops may zero or store a tile that is accumulated in such a loop.
  void place_in_registers() {
    const auto place = [&](LocalArrayId array, const FragmentLayout &wanted) {
      const TileUse &use = uses_.arrays.at(array);
      const Demands &own = demands_.at(array);
      const std::set<LocalId> loops = use.loops();
      const bool free = std::ranges::all_of(loops, [&](LocalId loop) {
        auto known = of_loop_.find(loop);
        return known == of_loop_.end() || known->second == wanted;
      });
      const std::int64_t registers = registers_of(use, wanted);
      const std::int64_t others =
          own.products.empty() ? registers_beside(array) : uses_.scopes.registers_around(use.scope);
      if (!may_lie_so(array, wanted) || !free || others + registers > most_sums_) return false;
      if (!own.products.empty()) uses_.scopes.take(use.scope, registers);
      registers_.emplace(array, registers);
      for (const LocalId loop : loops) of_loop_.emplace(loop, wanted);
      return layouts_.emplace(array, wanted).second;
    };
    for (const auto &[array, own] : demands_)
      if (!own.products.empty()) place(array, own.products[0]);
    for (bool more = true; more;) {
      more = false;
      for (const auto &[array, own] : demands_) {
        const std::set<LocalId> loops = uses_.arrays.at(array).loops();
        if (!own.products.empty() || in_registers(array)) continue;
        const auto known = std::ranges::find_if(loops, [&](LocalId loop) { return of_loop_.contains(loop); });
        if (known == loops.end()) continue;
        const FragmentLayout wanted = of_loop_.at(*known);
        const bool all = std::ranges::all_of(loops, [&](LocalId loop) {
          return of_loop_.contains(loop) || touched_by(loop) == 1 || reads_what_may_lie_so(loop, wanted);
        });
        more = (all && place(array, wanted)) || more;
      }
    }
  }

  // Tiles of one value for each row of sums, such as the row's maximum: if only loops over these values, or reductions
  // of the sums, compute them, each thread has those of its rows. The other threads of its warp with parts of the same
  // rows compute them as well.
  void place_values_of_rows() {
    const auto rows = layout_of_rows();
    if (!rows) return;
    std::set<LocalArrayId> may;
    for (const auto &[array, use] : uses_.arrays)
      if (!in_registers(array) && may_be_of_rows(use, *rows)) may.insert(array);
    for (std::size_t before = may.size() + 1; before != may.size();) {
      before = may.size();
      std::erase_if(may, [&](LocalArrayId array) {
        return std::ranges::any_of(uses_.arrays.at(array).touches, [&](const TileTouch &touch) {
          return touch.own_element && !repeats(*touch.threads, may);
        });
      });
    }
    // Loops that involve sums.
    std::set<LocalId> loops;
    for (bool more = true; more;) {
      more = false;
      for (const LocalArrayId array : may) {
        const TileUse &use = uses_.arrays.at(array);
        const std::set<LocalId> own = use.loops();
        const bool of_sums = !use.operands.empty() ||
                             std::ranges::any_of(use.touches, [](const TileTouch &t) { return !t.own_element; });
        const bool linked = of_sums || std::ranges::any_of(own, [&](LocalId loop) { return loops.contains(loop); });
        if (!linked || !layouts_.emplace(array, *rows).second) continue;
        loops.insert(own.begin(), own.end());
        more = true;
      }
    }
  }
  // One layout for all: that of the first sums whose rows belong to one warp each.
  std::optional<FragmentLayout> layout_of_rows() const {
    for (const auto &[loop, layout] : of_loop_)
      if (const auto rows = layout.of_rows()) return rows;
    return std::nullopt;
  }
  bool may_be_of_rows(const TileUse &use, const FragmentLayout &rows) const {
    const auto has_rows = [&](const std::optional<FragmentLayout> &sums) { return sums && sums->of_rows() == rows; };
    return use.count() == rows.rows && size_of(use.type()) >= 4 && !is_placed(use) &&
           std::ranges::all_of(use.touches,
                               [&](const TileTouch &touch) {
                                 if (touch.own_element) return true;
                                 const auto known =
                                     touch.threads ? of_loop_.find(touch.threads->index) : of_loop_.end();
                                 return touch.loads && known != of_loop_.end() && has_rows(known->second) &&
                                        is_row(touch, known->second);
                               }) &&
           std::ranges::all_of(use.operands, [&](const TileOperand &own) {
             const TileCall *call = own.call();
             if (!own.is_result() || !call || info(call->op).typing != Typing::Reduce || !reduces_rows(*call))
               return false;
             const auto from = layouts_.find(call->operands[0].array);
             return from != layouts_.end() && has_rows(std::get<FragmentLayout>(from->second));
           });
  }
  // Whether it is the row of the current element of a loop over sums.
  bool is_row(const TileTouch &touch, const FragmentLayout &sums) const {
    return forms_(touch.index).form == quotient(Symbol::local(touch.threads->index), sums.columns);
  }
  // Whether several threads may run a loop over elements redundantly: they write equal values to shared memory, if any.
  bool repeats(const For &loop, const std::set<LocalArrayId> &of_rows) const {
    bool may = true;
    for_each_statement(loop.body, [&](const Stmt &stmt) {
      const auto *let = stmt.as<Let>();
      const auto *store = stmt.as<LocalStore>();
      const bool reads =
          let && (info(let->value.op).pure || let->value.op == Op::Load || let->value.op == Op::LocalLoad);
      const auto array = local_array_touched(stmt);
      const bool of_others = array && in_registers(*array);
      may =
          may && !of_others && (reads || (store ? of_rows.contains(store->array) : stmt.as<Store>() || stmt.as<If>()));
    });
    return may;
  }

  void place_rows() {
    for (const auto &[array, own] : demands_) {
      const TileUse &use = uses_.arrays.at(array);
      if (!own.firsts.empty() && !in_registers(array)) {
        const TileShape shape = own.firsts[0]->first.type.shape();
        layouts_.emplace(array, PanelLayout{shape[0], shape[1]});
        continue;
      }
      if (own.other_call || own.columns.size() > 1 || in_registers(array) || is_placed(use)) continue;
      if (own.factor)
        layouts_.emplace(array, factor_rows(*own.columns.begin(), size_of(use.type()), *own.reading));
      else if (const auto rows = rows_read_by_columns(use, own))
        layouts_.emplace(array, *rows);
    }
  }

  // For tiles read by a transpose: if it costs at most an eighth more memory.
  static std::optional<RowLayout> rows_read_by_columns(const TileUse &use, const Demands &own) {
    if (!own.step || use.count() % *own.step != 0) return std::nullopt;
    if (!own.columns.empty() && !own.columns.contains(*own.step)) return std::nullopt;
    const RowLayout rows = factor_rows(*own.step, size_of(use.type()), Reading::Several);
    const auto bytes = static_cast<std::int64_t>(size_of(use.type())) * *own.step;
    return rows.units * 16 * 8 <= bytes * 9 ? std::optional(rows) : std::nullopt;
  }

  TileUses uses_;
  const std::map<LocalArrayId, TileLife> lives_;
  const IndexForms forms_;
  int threads_;
  const Architecture &architecture_;
  std::int64_t most_sums_ = most_registers;  // registers of a thread
  std::map<LocalArrayId, Demands> demands_;
  std::map<LocalArrayId, Layout> layouts_;
  std::map<LocalId, FragmentLayout> of_loop_;       // of loops over elements, by their index
  std::map<LocalArrayId, std::int64_t> registers_;  // of a thread
};

}  // namespace

std::int64_t registers_of(const FragmentLayout &layout, ScalarType element) {
  return layout.registers() * (size_of(element) == 8 ? 2 : 1);
}

std::optional<FragmentLayout> fragments(const TileCall &product, int threads, const Architecture &architecture) {
  const MatMulExtents extents = matmul_extents(product.operands[0].type, product.result.type, product.attribute);
  const auto unit = unit_of(product, architecture);
  if (!unit || extents.batch != 1 || threads % warp != 0) return std::nullopt;
  const ScalarType element = product.result.type.element();
  // The arrangement of the warps with the fewest sums for each thread, and then with the fewest loads. Single elements
  // need fewer loads by a thread: they are for tiles too small for all threads, if that makes enough of a difference,
  // and for less code.
  std::optional<FragmentLayout> best;
  std::int64_t fewest = 0;
  for (const auto tried_unit : *unit == matrices ? std::vector{matrices} : std::vector{fours, singles}) {
    const FragmentPiece piece = piece_of(tried_unit);
    for (int down = 1; down <= threads / warp; ++down) {
      if (threads / warp % down != 0) continue;
      const FragmentLayout tried{tried_unit, extents.rows, extents.columns, down, threads / warp / down};
      // Rows and columns of a warp's fragments, or of a thread.
      const bool of_warp = tried_unit == matrices;
      const std::int64_t loads =
          ceil_div(tried.rows, piece.rows * tried.down) * (of_warp ? piece.rows : piece.together) +
          ceil_div(tried.columns, piece.columns * tried.across) * (of_warp ? piece.columns : piece.together);
      const std::int64_t weight = tried_unit == singles ? 2 : 1;
      const std::int64_t cost = registers_of(tried, element) * weight * 4096 + loads;
      if (!best || cost < fewest) best = tried, fewest = cost;
    }
  }
  if (registers_of(*best, element) > most_registers) return std::nullopt;
  // Words of 4 bytes of a B across the terms are read in pairs if each warp has whole fragments of it.
  const bool tf32_across = (product.attribute & tf32_factors) && !(product.attribute & transposed_b);
  if (tf32_across && best->columns % (piece_of(transposed_matrices).columns * best->across) == 0)
    best->unit = transposed_matrices;
  return best;
}

Kernel place_tiles(Kernel lowered, const Architecture &architecture) {
  if (!is_tile_kernel(lowered) || !architecture.blocks_have_threads()) return lowered;
  const std::map<LocalArrayId, Layout> layouts = Placer(lowered, architecture).place(!lowered.sums_in_shared);
  const auto in_registers = [&](const TileMemory &tile) {
    const auto known = layouts.find(tile.array);
    return known != layouts.end() && std::holds_alternative<FragmentLayout>(known->second);
  };
  // Reductions into registers, or of columns in them, need no memory for parts of several warps.
  const auto has_no_parts = [&](const TileCall &call) {
    return info(call.op).typing == Typing::Reduce && call.operands.size() == 2 &&
           (in_registers(call.result) || (reduces_columns(call) && in_registers(call.operands[0])));
  };
  std::set<LocalArrayId> dropped;
  for_each_statement(lowered.body, [&](const Stmt &stmt) {
    if (const auto *call = stmt.as<TileCall>(); call && has_no_parts(*call)) dropped.insert(call->operands[1].array);
  });
  lowered.body = rewrite(lowered.body, [&](const Stmt &stmt, Block &made) {
    const auto *allocate = stmt.as<Allocate>();
    const auto *call = stmt.as<TileCall>();
    if (allocate && dropped.contains(allocate->array)) return;
    if (allocate && layouts.contains(allocate->array)) {
      Allocate placed = *allocate;
      placed.layout = layouts.at(allocate->array);
      if (std::holds_alternative<FragmentLayout>(placed.layout)) placed.space = MemorySpace::registers;
      made.emplace_back(placed, stmt.where());
    } else if (call && has_no_parts(*call)) {
      TileCall placed = *call;
      placed.operands.pop_back();
      made.emplace_back(std::move(placed), stmt.where());
    } else if (call && call->op == Op::MatMul) {
      TileCall placed = *call;
      placed.sums = fragments(*call, lowered.block_threads, architecture);
      made.emplace_back(std::move(placed), stmt.where());
    } else {
      made.push_back(stmt);
    }
  });
  return lowered;
}

}  // namespace samite::passes
