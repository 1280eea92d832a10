#include "samite/passes/place_tiles.h"

#include "samite/base/error.h"
#include "samite/ir/tile_rules.h"
#include "samite/ir/visit.h"
#include "samite/passes/spread_tiles.h"

#include <algorithm>
#include <set>

namespace samite::passes {
namespace {

using namespace ir;

constexpr std::int64_t most_registers = 128;  // of a thread, for sums
constexpr int warp = 32;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

// Of a warp, and of each of its threads.
struct Piece {
  std::int64_t rows, columns, registers, together;
};
Piece piece_of(Fragments::Unit unit) {
  switch (unit) {
    case Fragments::Unit::Fours: return {16, 32, 16, 4};
    case Fragments::Unit::Singles: return {4, 8, 1, 1};
    case Fragments::Unit::Matrices: return {16, 8, 4, 2};
    case Fragments::Unit::TransposedMatrices: return {8, 16, 4, 2};
    case Fragments::Unit::Rows: return {1, 128, 4, 4};
  }
  throw InternalError("an unknown unit");
}

// A row for each type that some unit multiplies; the others are nobody's.
struct Factors {
  ScalarType factor, sum;
  Fragments::Unit unit;
};
constexpr Factors table[] = {
    {ScalarType::Float16, ScalarType::Float32, Fragments::Unit::Matrices},
    {ScalarType::BFloat16, ScalarType::Float32, Fragments::Unit::Matrices},
    {ScalarType::Float16, ScalarType::Float16, Fragments::Unit::Matrices},
    {ScalarType::BFloat16, ScalarType::BFloat16, Fragments::Unit::Matrices},
    {ScalarType::Float8E4M3, ScalarType::Float32, Fragments::Unit::Matrices},
    {ScalarType::Float8E5M2, ScalarType::Float32, Fragments::Unit::Matrices},
    {ScalarType::Int8, ScalarType::Int32, Fragments::Unit::Matrices},
    {ScalarType::UInt8, ScalarType::Int32, Fragments::Unit::Matrices},
    {ScalarType::Float64, ScalarType::Float64, Fragments::Unit::Matrices},
    {ScalarType::Float32, ScalarType::Float32, Fragments::Unit::Fours},
    {ScalarType::Int32, ScalarType::Int32, Fragments::Unit::Fours},
    {ScalarType::UInt32, ScalarType::UInt32, Fragments::Unit::Fours},
};

std::optional<Fragments::Unit> unit_of(const TileCall &call) {
  const ScalarType factor = call.operands[0].type.element(), sum = call.result.type.element();
  if (factor == ScalarType::Float32 && (call.attribute & tf32_factors)) return Fragments::Unit::Matrices;
  for (const Factors &row : table)
    if (row.factor == factor && row.sum == sum) return row.unit;
  return std::nullopt;
}

std::int64_t registers_of(const Fragments &fragments, ScalarType sum) {
  return fragments.registers() * (size_of(sum) == 8 ? 2 : 1);
}

Reading reading_of(const TileCall &product, std::size_t operand, const Fragments &fragments) {
  const bool transposed = product.attribute & (operand == 0 ? transposed_a : transposed_b);
  const bool along_terms = (operand == 0) != transposed;
  const bool tf32 = product.attribute & tf32_factors;
  const bool threads = fragments.unit == Fragments::Unit::Fours || fragments.unit == Fragments::Unit::Singles;
  if (threads && (operand == 0 || !along_terms)) return Reading::OneRow;
  return tf32 && !along_terms ? Reading::PairsOfFour : Reading::Several;
}

std::int64_t columns_of(const Type &type) { return type.is_tile() ? type.shape()[type.shape().rank() - 1] : 1; }

// How the lowered kernel touches each of its shared arrays.
struct Touches {
  bool elementwise = true;  // by loops over its own elements, and as the sums of products, alone
  bool factor = false, other_call = false;
  std::set<const For *> loops;      // over its elements
  std::vector<Fragments> products;  // whose sums it is
  std::optional<Type> factor_type;
  std::set<std::int64_t> columns;    // of what calls read and write it as, which differ where it is reshaped
  std::optional<Reading> reading;    // by products
  std::optional<std::int64_t> step;  // from what a thread of a loop reads to what its neighbour does
  std::int64_t count = 0;
  ScalarType type = ScalarType::Bool;
  std::size_t scope = 0;  // of its allocation
};

// Blocks of statements that lie in each other. Registers of what one of them defines are free for its neighbours.
class Scopes {
 public:
  std::size_t inside(std::size_t scope) {
    scopes_.push_back({scope, 0});
    return scopes_.size() - 1;
  }
  void take(std::size_t scope, std::int64_t registers) { scopes_[scope].registers += registers; }

  // Those in use at one time, at most, where `scope` or a block within it is.
  std::int64_t registers_around(std::size_t scope) const {
    std::int64_t most = 0;
    for (std::size_t inner = scope; inner < scopes_.size(); ++inner) {
      bool within = false;
      std::int64_t sum = 0;
      for (std::size_t at = inner;; at = scopes_[at].around) {
        within = within || at == scope;
        sum += scopes_[at].registers;
        if (at == 0) break;
      }
      if (within) most = std::max(most, sum);
    }
    return most;
  }

 private:
  struct Scope {
    std::size_t around;  // comes before
    std::int64_t registers;
  };
  std::vector<Scope> scopes_{{0, 0}};
};

class Placer {
 public:
  explicit Placer(const Kernel &kernel) : kernel_(kernel) { walk(kernel.body, nullptr, 0); }

  TilePlacement place(bool in_registers) {
    if (in_registers) place_in_registers();
    place_rows();
    place_stages(kernel_.body);
    if (in_registers) spread_tiles(kernel_, placement_);
    return std::move(placement_);
  }

 private:
  void walk(const Block &block, const For *threads, std::size_t scope) {
    for (const Stmt &stmt : block) {
      if (auto *allocate = stmt.as<Allocate>(); allocate && allocate->shared && !allocate->kept) {
        Touches &own = arrays_[allocate->array];
        own.count = allocate->size.is_constant() ? allocate->size.as_int() : 0;
        own.type = allocate->type.element();
        own.elementwise = allocate->size.is_constant();
        own.scope = scope;
      } else if (auto *call = stmt.as<TileCall>()) {
        touch(*call);
      } else if (auto *store = stmt.as<LocalStore>()) {
        touch(store->array, store->index, threads);
      } else if (auto *let = stmt.as<Let>(); let && let->value.op == Op::LocalLoad) {
        touch(let->value.array, let->value.operands[0], threads);
        if (threads) note_step(let->value.array, let->value.operands[0], *threads);
      } else if (let && threads) {
        definitions_[let->local] = &let->value;
      } else if (auto *branch = stmt.as<If>()) {
        walk(branch->then_block, threads, scopes_.inside(scope));
        walk(branch->else_block, threads, scopes_.inside(scope));
      } else if (auto *loop = stmt.as<For>()) {
        walk(loop->body, loop->kind == LoopKind::Thread ? loop : threads, scopes_.inside(scope));
      } else if (auto *loop = stmt.as<While>()) {
        walk(loop->condition_block, threads, scopes_.inside(scope));
        walk(loop->body, threads, scopes_.inside(scope));
      }
    }
  }

  void touch(LocalArrayId array, const Value &index, const For *threads) {
    auto known = arrays_.find(array);
    if (known == arrays_.end()) return;
    Touches &own = known->second;
    const bool own_element = threads && index.is_local() && index.id() == threads->index &&
                             threads->end.is_constant() && threads->end.as_int() == own.count;
    own.elementwise = own.elementwise && own_element;
    if (own_element) own.loops.insert(threads);
  }

  void note_step(LocalArrayId array, const Value &index, const For &threads) {
    auto known = arrays_.find(array);
    const auto first = index_at(index, threads, 0), second = index_at(index, threads, 1);
    if (known == arrays_.end() || !first || !second || *second - *first <= 1) return;
    known->second.step = std::max(known->second.step.value_or(0), *second - *first);
  }

  // An index that is made of the loop's and of constants, where that has this value.
  std::optional<std::int64_t> index_at(const Value &index, const For &loop, std::int64_t at) const {
    if (index.is_constant()) return index.as_int();
    if (index.id() == loop.index) return at;
    const auto made = definitions_.find(index.id());
    if (made == definitions_.end() || made->second->operands.empty()) return std::nullopt;
    std::vector<std::int64_t> operands;
    for (const Value &operand : made->second->operands) {
      const auto value = index_at(operand, loop, at);
      if (!value) return std::nullopt;
      operands.push_back(*value);
    }
    switch (made->second->op) {
      case Op::Add: return operands[0] + operands[1];
      case Op::Mul: return operands[0] * operands[1];
      case Op::Div: return operands[1] == 0 ? std::nullopt : std::optional(operands[0] / operands[1]);
      case Op::Rem: return operands[1] == 0 ? std::nullopt : std::optional(operands[0] % operands[1]);
      default: return std::nullopt;
    }
  }

  void touch(const TileCall &call) {
    const bool product = call.op == Op::MatMul;
    const auto served = product ? fragments(call, kernel_.block_threads) : std::nullopt;
    Touches &result = arrays_[call.result.array];
    result.columns.insert(columns_of(call.result.type));
    if (served)
      result.products.push_back(*served);
    else
      result.elementwise = false;
    result.other_call = result.other_call || (call.op != Op::Load && call.op != Op::Cast);
    for (std::size_t i = 0; i < call.operands.size(); ++i) {
      const TileMemory &operand = call.operands[i];
      Touches &own = arrays_[operand.array];
      own.columns.insert(columns_of(operand.type));
      own.elementwise = false;
      if (served && (!own.factor_type || own.factor_type == operand.type)) {
        const Reading reading = reading_of(call, i, *served);
        own.reading = own.reading.value_or(reading) == reading ? reading : Reading::Several;
        own.factor = true, own.factor_type = operand.type;
      } else {
        own.other_call = true;
      }
    }
  }

  // From the sums of products on to what the loops over them touch, as long as no loop has two layouts.
  void place_in_registers() {
    std::map<const For *, Fragments> layout;
    auto place = [&](LocalArrayId array, const Touches &own, const Fragments &wanted) {
      const bool one_layout = std::ranges::all_of(own.products, [&](const Fragments &f) { return f == wanted; });
      const bool free = std::ranges::all_of(own.loops, [&](const For *loop) {
        auto known = layout.find(loop);
        return known == layout.end() || known->second == wanted;
      });
      const bool fits = own.count == wanted.rows * wanted.columns && size_of(own.type) >= 4 &&
                        scopes_.registers_around(own.scope) + registers_of(wanted, own.type) <= most_registers;
      if (!own.elementwise || !one_layout || !free || !fits) return false;
      scopes_.take(own.scope, registers_of(wanted, own.type));
      for (const For *loop : own.loops) layout.emplace(loop, wanted);
      return placement_.registers.emplace(array, wanted).second;
    };
    for (const auto &[array, own] : arrays_)
      if (!own.products.empty()) place(array, own, own.products[0]);
    for (bool more = true; more;) {
      more = false;
      for (const auto &[array, own] : arrays_) {
        if (!own.products.empty() || own.loops.empty() || placement_.registers.contains(array)) continue;
        const auto known = layout.find(*own.loops.begin());
        const bool in_all = known != layout.end() &&
                            std::ranges::all_of(own.loops, [&](const For *loop) { return layout.contains(loop); });
        more = (in_all && place(array, own, known->second)) || more;
      }
    }
  }

  void place_rows() {
    for (const auto &[array, own] : arrays_) {
      if (own.other_call || own.columns.size() > 1 || placement_.registers.contains(array)) continue;
      if (own.factor)
        placement_.rows.emplace(array, factor_rows(*own.columns.begin(), size_of(own.type), *own.reading));
      else if (const auto rows = rows_read_by_columns(own))
        placement_.rows.emplace(array, *rows);
    }
  }

  // Of what a transpose reads: where that costs an eighth more memory at most.
  static std::optional<FactorRows> rows_read_by_columns(const Touches &own) {
    if (!own.step || own.count % *own.step != 0) return std::nullopt;
    if (!own.columns.empty() && !own.columns.contains(*own.step)) return std::nullopt;
    const FactorRows rows = factor_rows(*own.step, size_of(own.type), Reading::Several);
    const auto bytes = static_cast<std::int64_t>(size_of(own.type)) * *own.step;
    return rows.units * 16 * 8 <= bytes * 9 ? std::optional(rows) : std::nullopt;
  }

  void place_stages(const Block &block) {
    for (const Stmt &stmt : block) {
      if (auto *branch = stmt.as<If>()) {
        place_stages(branch->then_block);
        place_stages(branch->else_block);
      } else if (auto *loop = stmt.as<For>()) {
        place_stages(loop->body);
        if (loop->stages > 1) place_stages(*loop);
      } else if (auto *loop = stmt.as<While>()) {
        place_stages(loop->body);
      }
    }
  }

  void place_stages(const For &loop) {
    bool writes = false;
    std::map<LocalArrayId, int> written;
    for_each_statement(loop.body, [&](const Stmt &stmt) {
      writes = writes || array_written(stmt);
      if (auto *store = stmt.as<LocalStore>()) ++written[store->array];
      if (auto *call = stmt.as<TileCall>()) ++written[call->result.array];
    });
    if (writes || !loop.step.is_constant()) return;
    std::set<LocalId> inside;
    for (const Carried &carried : loop.carried) inside.insert(carried.inner);
    StagedLoop staged{0, {}};
    for (std::size_t i = 0; i < loop.body.size(); ++i) {
      const Stmt &stmt = loop.body[i];
      bool ready = true;
      for_each_operand(
          stmt, [&](const Value &value) { ready = ready && !(value.is_local() && inside.contains(value.id())); });
      auto *let = stmt.as<Let>();
      const bool scalar = let && info(let->value.op).pure && let->value.op != Op::LocalLoad;
      auto *call = stmt.as<TileCall>();
      if (ready && call && call->op == Op::Load && written[call->result.array] == 1) {
        staged.buffers.push_back(call->result.array);
        staged.ahead = i + 1;
      } else if (!ready || !(scalar || stmt.as<Allocate>())) {
        break;
      }
    }
    if (staged.buffers.empty()) return;
    for (LocalArrayId buffer : staged.buffers) placement_.stages[buffer] = loop.stages;
    placement_.staged.emplace(&loop, std::move(staged));
  }

  const Kernel &kernel_;
  Scopes scopes_;
  std::map<LocalArrayId, Touches> arrays_;
  std::map<LocalId, const Operation *> definitions_;
  TilePlacement placement_;
};

}  // namespace

std::int64_t Fragments::registers() const {
  const Piece piece = piece_of(unit);
  return ceil_div(rows, piece.rows * down) * ceil_div(columns, piece.columns * across) * piece.registers;
}

std::int64_t Fragments::together() const { return piece_of(unit).together; }

std::optional<Fragments> fragments(const TileCall &call, int threads) {
  const MatMulExtents extents = matmul_extents(call.operands[0].type, call.result.type, call.attribute);
  const auto unit = unit_of(call);
  if (!unit || extents.batch != 1 || threads % warp != 0) return std::nullopt;
  using enum Fragments::Unit;
  // Of all ways to lay the warps, that with the fewest sums for each thread, and then with the fewest loads. Single
  // elements are less work for what a thread loads: they are for tiles that are too small for all threads, where it is
  // so many fewer that they are worth it, and less code.
  std::optional<Fragments> best;
  std::int64_t fewest = 0;
  for (const auto tried_unit : *unit == Matrices ? std::vector{Matrices} : std::vector{Fours, Singles}) {
    const Piece piece = piece_of(tried_unit);
    for (int down = 1; down <= threads / warp; ++down) {
      if (threads / warp % down != 0) continue;
      const Fragments tried{tried_unit, extents.rows, extents.columns, down, threads / warp / down};
      // Of a warp's matrices, or of a thread's rows and columns.
      const bool matrices = tried_unit == Matrices;
      const std::int64_t loads =
          ceil_div(tried.rows, piece.rows * tried.down) * (matrices ? piece.rows : piece.together) +
          ceil_div(tried.columns, piece.columns * tried.across) * (matrices ? piece.columns : piece.together);
      const std::int64_t weight = tried_unit == Singles ? 2 : 1;
      const std::int64_t cost = registers_of(tried, call.result.type.element()) * weight * 4096 + loads;
      if (!best || cost < fewest) best = tried, fewest = cost;
    }
  }
  if (registers_of(*best, call.result.type.element()) > most_registers) return std::nullopt;
  // Words of 4 bytes of a B that lies across the terms are read in pairs where each warp has whole pieces of it.
  const bool tf32_across = (call.attribute & tf32_factors) && !(call.attribute & transposed_b);
  if (tf32_across && best->columns % (piece_of(TransposedMatrices).columns * best->across) == 0)
    best->unit = TransposedMatrices;
  return best;
}

TilePlacement place_tiles(const Kernel &lowered, bool in_registers) { return Placer(lowered).place(in_registers); }

}  // namespace samite::passes
