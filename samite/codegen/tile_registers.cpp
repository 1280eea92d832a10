// Tiles of a block of CUDA's threads as `passes/place_tiles.h` places them: in each thread's registers or in rows of
// whole units.
#include "samite/base/error.h"
#include "samite/codegen/kernel_emitter.h"
#include "samite/codegen/spelling.h"
#include "samite/ir/visit.h"

#include <algorithm>

namespace samite::codegen {

using namespace ir;

namespace {

std::string rows_name(std::string_view element, const passes::FactorRows &rows) {
  return fmt::format("TileRows<{}, {}, {}, {}>", element, rows.columns, rows.units, rows.swizzled);
}

}  // namespace

std::string KernelEmitter::fragments_type(const passes::Fragments &f) {
  using enum passes::Fragments::Unit;
  const std::string pieces = f.unit == Matrices             ? "MatrixPieces"
                             : f.unit == TransposedMatrices ? "TransposedMatrixPieces"
                             : f.unit == Rows               ? "SpreadPieces"
                                                            : fmt::format("ThreadPieces<{}>", f.together());
  return fmt::format("Fragments<{}, {}, {}, {}, {}>", pieces, f.rows, f.columns, f.down, f.across);
}

std::string KernelEmitter::rows_type(const TileMemory &memory) const {
  const TileShape shape = memory.type.shape();
  auto known = placement_.rows.find(memory.array);
  return rows_name(memory_name(memory.type), known == placement_.rows.end()
                                                 ? passes::FactorRows{shape[shape.rank() - 1], 0, false}
                                                 : known->second);
}

void KernelEmitter::allocate_tile(const Allocate &allocate) {
  const std::string name = array_name(allocate.array);
  const std::string_view element = memory_name(allocate.type);
  if (auto sums = placement_.registers.find(allocate.array); sums != placement_.registers.end()) {
    out_.line("using Sums{} = {};", allocate.array, fragments_type(sums->second));
    out_.line("Register<{}> {}[Sums{}::registers] = {{}};", element, name, allocate.array);
    return;
  }
  if (auto rows = placement_.rows.find(allocate.array); rows != placement_.rows.end())
    out_.line("using Rows{} = {};", allocate.array, rows_name(element, rows->second));
  const passes::PlacedTile *tile = tile_memory_.tile(allocate.array);
  internal_check(tile != nullptr, "a tile without a place");
  const std::string stage = tile->stages > 1 ? fmt::format(" + {} * ({})", tile->bytes / tile->stages, stage_) : "";
  out_.line("{0} *const {1} = reinterpret_cast<{0} *>(shared + {2}{3});", element, name, tile->offset, stage);
}

std::string KernelEmitter::tile_element(LocalArrayId array, const std::string &index) const {
  const std::string name = array_name(array);
  if (placement_.registers.contains(array))
    return fmt::format("{}[{}]", name, together_.rotates ? "everywhere ? r : r - first" : "r");
  if (placement_.rows.contains(array)) return fmt::format("{}[Rows{}::place({})]", name, array, index);
  return fmt::format("{}[{}]", name, index);
}

// Of a loop over elements: the tiles in registers that it touches. All of them have one layout.
std::set<LocalArrayId> KernelEmitter::tiles_in_registers(const For &loop) const {
  std::set<LocalArrayId> found;
  for_each_statement(loop.body, [&](const Stmt &stmt) {
    auto *store = stmt.as<LocalStore>();
    auto *let = stmt.as<Let>();
    if (store && placement_.registers.contains(store->array)) found.insert(store->array);
    if (let && let->value.op == Op::LocalLoad && placement_.registers.contains(let->value.array))
      found.insert(let->value.array);
  });
  return found;
}

void KernelEmitter::index_of_element(const For &loop, LocalArrayId tile) {
  out_.line("[[maybe_unused]] const {0} {1} = {0}(Sums{2}::row(r) * {3} + Sums{2}::column(r));", scalar_name(loop.type),
            name(loop.index), tile, placement_.registers.at(tile).columns);
}

// What one thread does with one of its elements.
void KernelEmitter::elements_of_thread(const For &loop, LocalArrayId tile) {
  const std::int64_t columns = placement_.registers.at(tile).columns;
  out_.line("if (!Sums{}::holds(r)) continue;", tile);
  index_of_element(loop, tile);
  in_thread_loop_ = true;
  fragment_loop_ = {loop.index, tile, columns};
  block(loop.body);
  fragment_loop_.reset();
  in_thread_loop_ = false;
}

std::string KernelEmitter::fragment_coordinate(const Operation &operation) const {
  if (!fragment_loop_ || (operation.op != Op::Div && operation.op != Op::Rem)) return "";
  const Value &index = operation.operands[0], &columns = operation.operands[1];
  const bool of_index = index.is_local() && index.id() == fragment_loop_->index && columns.is_constant() &&
                        columns.as_int() == fragment_loop_->columns;
  if (!of_index) return "";
  return fmt::format("{}(Sums{}::{}(r))", scalar_name(operation.type), fragment_loop_->sums,
                     operation.op == Op::Div ? "row" : "column");
}

}  // namespace samite::codegen
