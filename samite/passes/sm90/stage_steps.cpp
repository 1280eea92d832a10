#include "samite/passes/sm90/stage_steps.h"

#include "samite/base/error.h"
#include "samite/ir/visit.h"
#include "samite/passes/analysis/index_number.h"
#include "samite/passes/analysis/tile_uses.h"
#include "samite/passes/simplify/rename.h"
#include "samite/passes/simplify/rewrite.h"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>

namespace samite::passes {
namespace {

using namespace ir;

// Definitions of an iteration that others need and that access no memory.
std::set<LocalId> ready_lets(const For &loop) {
  std::set<LocalId> defined, ready;
  for_each_statement(loop.body, [&](const Stmt &stmt) {
    for_each_definition(stmt, [&](LocalId local, const Type &) { defined.insert(local); });
  });
  for (const Stmt &stmt : loop.body) {
    const auto *let = stmt.as<Let>();
    if (!let || !info(let->value.op).pure || let->value.op == Op::LocalLoad) continue;
    const bool own = std::ranges::all_of(let->value.operands, [&](const Value &value) {
      return !value.is_local() || !defined.contains(value.id()) || ready.contains(value.id());
    });
    if (own) ready.insert(let->local);
  }
  return ready;
}

// The statement that zeroes the sums of a product: the last one on them before it.
const Stmt &zeros_of(const TileCall &product, const For &loop) {
  const auto call = std::ranges::find(loop.body, &product, &Stmt::as<TileCall>);
  const auto zeros = std::find_if(std::make_reverse_iterator(call), loop.body.rend(),
                                  [&](const Stmt &stmt) { return touches_tile(stmt, product.result.array); });
  internal_check(zeros != loop.body.rend() && zeros->as<For>(), "sums that begin with zeros are not zeroed");
  return *zeros;
}

class StageWriter {
 public:
  StageWriter(const For &loop, int stages, Builder &build)
      : loop_(loop),
        stages_(stages),
        build_(build),
        bring_{{build.new_local_array(), Type(ScalarType::UInt64, TileShape{2 * std::int64_t{stages}})}, {}} {}

  void write(const std::vector<StepProduct> &products, const std::vector<StepValues> &values) {
    make_barriers();
    for (const StepValues &own : values) add(own);
    for (const StepProduct &own : products) add(own);
    For made = loop_;
    made.body = body();
    if (!products.empty()) made.products = {};
    release_after_last(made.body);
    share_sums(made.body);
    build_.append({std::move(made), build_.where()});
  }

 private:
  // A tile of the loop whose elements are in a ring. `first_column`: the ring's column that is the tile's only one, if
  // a box begins before it (`within`).
  struct Ring {
    LocalArrayId array;
    std::int64_t own_columns, columns;
    bool within;
    std::optional<Value> first_column = {};
  };

  void make_barriers() {
    build_.append({Allocate{bring_.barriers.array, ScalarType::UInt64, index_number(bring_.barriers.type.count()),
                            MemorySpace::shared},
                   build_.where()});
  }

  LocalArrayId make_ring(const Type &type, std::optional<PanelLayout> panels) {
    Allocate ring{build_.new_local_array(), type.element(), index_number(type.count()), MemorySpace::shared};
    if (panels) ring.layout = *panels;
    ring.stages = stages_;
    build_.append({ring, build_.where()});
    return ring.array;
  }

  void add(const StepProduct &own) {
    StageProduct product{own.attribute, own.product->result, {}, bring_.barriers, own.sums, own.from_zero};
    if (own.from_zero) zeros_.insert(&zeros_of(*own.product, loop_).kind());
    for (std::size_t i = 0; i < 2; ++i) {
      const Type type = own.windows[i].ring.type;
      const LocalArrayId tile = own.product->operands[i].array;
      auto known = factors_.find(tile);
      if (known == factors_.end()) {
        const LocalArrayId ring = make_ring(type, PanelLayout{type.shape()[0], type.shape()[1]});
        known = factors_.emplace(tile, ring).first;
        bring_.windows.push_back(
            {{ring, type}, own.windows[i].array, own.windows[i].indices, false, own.windows[i].why_copy});
      }
      product.factors[i] = {known->second, type};
      gone_.insert(own.loads[i]);
    }
    products_.emplace(own.product, product);
  }

  void add(const StepValues &own) {
    const Type type(own.load->result.type.element(), TileShape{own.rows, own.columns});
    const LocalArrayId ring = make_ring(type, {});
    values_.emplace(own.load->result.array, Ring{ring, own.load->result.type.shape()[1], own.columns, own.within});
    bring_.windows.push_back({{ring, type}, own.load->array, own.load->indices, true});
    gone_.insert(own.load);
  }

  // The windows' places are computed first, then the windows are waited for.
  Block body() {
    const std::set<LocalId> ready = ready_lets(loop_);
    const auto is_ready = [&](const Stmt &stmt) {
      const auto *let = stmt.as<Let>();
      return let && ready.contains(let->local);
    };
    Block outer = build_.open();
    for (const Stmt &stmt : loop_.body)
      if (is_ready(stmt)) build_.append(stmt);
    begin_at_units();
    build_.append({bring_, build_.where()});
    for (const Stmt &stmt : loop_.body) {
      const auto *allocate = stmt.as<Allocate>();
      if (const auto own = products_.find(stmt.as<TileCall>()); own != products_.end())
        build_.append({own->second, stmt.where()});
      else if (!is_ready(stmt) && !gone_.contains(stmt.as<TileLoad>()) && !zeros_.contains(&stmt.kind()) &&
               !(allocate && (factors_.contains(allocate->array) || values_.contains(allocate->array))))
        build_.append(stmt);
    }
    return with_loads_from_rings(build_.close(std::move(outer)));
  }

  // Boxes of values begin at multiples of 16 bytes in a row.
  void begin_at_units() {
    for (auto &[tile, ring] : values_) {
      if (!ring.within) continue;
      BringWindows::Window &window = *std::ranges::find_if(
          bring_.windows, [&](const BringWindows::Window &own) { return own.ring.array == ring.array; });
      Value &column = window.indices.back();
      const std::int64_t unit = 16 / static_cast<std::int64_t>(size_of(window.ring.type.element()));
      ring.first_column = build_(Op::And, {column, index_number(unit - 1)});
      column = build_(Op::And, {column, index_number(-unit)});
    }
  }

  // The place of the tile's element in the ring's stage.
  Value place_in(const Ring &ring, const Value &element) {
    if (!ring.first_column && ring.own_columns == ring.columns) return element;
    const Value row = ring.own_columns == 1 ? element : build_(Op::Div, {element, index_number(ring.own_columns)});
    const Value column =
        ring.first_column ? *ring.first_column : build_(Op::Rem, {element, index_number(ring.own_columns)});
    return build_(Op::Add, {build_(Op::Mul, {row, index_number(ring.columns)}), column});
  }
  Block with_loads_from_rings(const Block &block) {
    return rewrite(block, [&](const Stmt &stmt, Block &made) {
      const auto *let = stmt.as<Let>();
      const auto ring = let && let->value.op == Op::LocalLoad ? values_.find(let->value.array) : values_.end();
      if (ring == values_.end()) return made.push_back(stmt);
      build_.at(stmt.where());
      Block outer = build_.open();
      Let load = *let;
      load.value.array = ring->second.array;
      load.value.operands[0] = place_in(ring->second, let->value.operands[0]);
      for (Stmt &own : build_.close(std::move(outer))) made.push_back(std::move(own));
      made.emplace_back(std::move(load), stmt.where());
    });
  }

  void release_after_last(Block &made) const {
    const auto reads = [&](const Stmt &stmt) {
      return std::ranges::any_of(bring_.windows, [&](const auto &own) { return touches_tile(stmt, own.ring.array); });
    };
    const auto last = std::ranges::find_if(made.rbegin(), made.rend(), reads);
    made.insert(last.base(), Stmt(ReleaseWindows{bring_.barriers.array}, build_.where()));
  }

  // A product reuses the previous product's tile for its sums, if the iteration no longer needs it: the compiler would
  // keep both in registers, since it delays the uses of the first.
  static void share_sums(Block &made) {
    std::optional<TileMemory> before;
    for (bool more = true; more;) {
      more = false;
      before.reset();
      for (const Stmt &stmt : made) {
        const auto *product = stmt.as<StageProduct>();
        if (!product) continue;
        const TileMemory own = product->result;
        if (before && before->array != own.array && before->type == own.type && take(made, *before, own)) {
          more = true;
          break;
        }
        before = own;
      }
    }
  }
  static bool take(Block &made, const TileMemory &one, const TileMemory &other) {
    const auto memory = [&](LocalArrayId array) {
      return std::ranges::find_if(made, [&](const Stmt &stmt) {
        const auto *allocate = stmt.as<Allocate>();
        return allocate && allocate->array == array;
      });
    };
    const auto own = memory(other.array);
    if (memory(one.array) == made.end() || own == made.end() ||
        std::any_of(own, made.end(), [&](const Stmt &stmt) { return touches_tile(stmt, one.array); }))
      return false;
    made.erase(own);
    const auto tile = [&](LocalArrayId array) { return array == other.array ? one.array : array; };
    made = rewrite(made, [&](const Stmt &stmt) { return on_tiles(stmt, tile); });
    return true;
  }

  const For &loop_;
  const int stages_;
  Builder &build_;
  BringWindows bring_;
  std::map<const TileCall *, StageProduct> products_;
  std::map<LocalArrayId, LocalArrayId> factors_;  // the ring of each tile
  std::map<LocalArrayId, Ring> values_;           // likewise
  std::set<const TileLoad *> gone_;               // loads replaced by copies
  std::set<const StmtKind *> zeros_;              // statements that zero sums which their product sets
};

}  // namespace

bool known_at_begin(const For &loop, const std::vector<Value> &indices) {
  const std::set<LocalId> ready = ready_lets(loop);
  std::set<LocalId> late;
  for_each_statement(loop.body, [&](const Stmt &stmt) {
    for_each_definition(stmt, [&](LocalId local, const Type &) {
      if (!ready.contains(local)) late.insert(local);
    });
  });
  return std::ranges::none_of(indices,
                              [&](const Value &index) { return index.is_local() && late.contains(index.id()); });
}

void write_stages(const std::vector<StepProduct> &products, const std::vector<StepValues> &values, const For &loop,
                  int stages, Builder &build) {
  StageWriter(loop, stages, build).write(products, values);
}

}  // namespace samite::passes
