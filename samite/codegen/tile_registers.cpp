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

std::string rows_name(std::string_view element, const RowLayout &rows) {
  return fmt::format("TileRows<{}, {}, {}, {}>", element, rows.columns, rows.units, rows.swizzled);
}

}  // namespace

std::string KernelEmitter::fragments_type(const FragmentLayout &f) {
  using enum FragmentLayout::Unit;
  const std::string pieces = f.unit == matrices              ? "MatrixPieces"
                             : f.unit == transposed_matrices ? "TransposedMatrixPieces"
                             : f.unit == rows                ? "SpreadPieces"
                                                             : fmt::format("ThreadPieces<{}>", f.together());
  return fmt::format("Fragments<{}, {}, {}, {}, {}>", pieces, f.rows, f.columns, f.down, f.across);
}

std::string KernelEmitter::rows_type(const TileMemory &memory) const {
  const TileShape shape = memory.type.shape();
  const RowLayout *known = row_layout_of(memory.array);
  return rows_name(memory_name(memory.type), known ? *known : RowLayout{shape[shape.rank() - 1], 0, false});
}

void KernelEmitter::allocate_tile(const Allocate &allocate) {
  const std::string name = array_name(allocate.array);
  const std::string_view element = memory_name(allocate.type);
  if (const FragmentLayout *fragments = fragments_of(allocate.array)) {
    out_.line("using Sums{} = {};", allocate.array, fragments_type(*fragments));
    out_.line("Register<{}> {}[Sums{}::registers] = {{}};", element, name, allocate.array);
    return;
  }
  if (allocate.stages > 1) return;  // its buffers have names of their own
  if (const RowLayout *rows = row_layout_of(allocate.array))
    out_.line("using Rows{} = {};", allocate.array, rows_name(element, *rows));
  const Allocate &memory = allocate.buffer ? *allocations_[allocate.buffer->of] : allocate;
  internal_check(memory.offset.has_value(), "a tile without a place");
  const std::int64_t bytes = buffer_bytes(memory.layout, memory.type.element(), memory.size.as_int(), memory.stages);
  const std::string buffer = allocate.buffer ? fmt::format(" + {} * ({})", bytes, scalar(allocate.buffer->number)) : "";
  out_.line("{0} *const {1} = reinterpret_cast<{0} *>(shared + {2}{3});", element, name, *memory.offset, buffer);
}

std::string KernelEmitter::tile_element(LocalArrayId array, const std::string &index) const {
  const std::string name = array_name(array);
  if (fragments_of(array)) return fmt::format("{}[{}]", name, together_.rotates ? "everywhere ? r : r - first" : "r");
  if (row_layout_of(array)) return fmt::format("{}[Rows{}::place({})]", name, array, index);
  return fmt::format("{}[{}]", name, index);
}

// Of a loop over elements: the tiles in registers that it touches. All of them have one layout.
std::set<LocalArrayId> KernelEmitter::tiles_in_registers(const For &loop) const {
  std::set<LocalArrayId> found;
  for_each_statement(loop.body, [&](const Stmt &stmt) {
    if (const auto array = local_array_touched(stmt); array && fragments_of(*array)) found.insert(*array);
  });
  return found;
}

void KernelEmitter::index_of_element(const For &loop, LocalArrayId tile) {
  out_.line("[[maybe_unused]] const {0} {1} = {0}(Sums{2}::row(r) * {3} + Sums{2}::column(r));", scalar_name(loop.type),
            name(loop.index), tile, fragments_of(tile)->columns);
}

// What one thread does with one of its elements.
void KernelEmitter::elements_of_thread(const For &loop, LocalArrayId tile) {
  const std::int64_t columns = fragments_of(tile)->columns;
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
