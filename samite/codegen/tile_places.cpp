#include "samite/codegen/tile_places.h"

#include "samite/base/error.h"
#include "samite/ir/visit.h"

namespace samite::codegen {

using namespace ir;

namespace {

std::string rows_name(std::string_view element, const RowLayout &rows) {
  return fmt::format("TileRows<{}, {}, {}, {}>", element, rows.columns, rows.units, rows.swizzled);
}

std::string panels_name(std::string_view element, const PanelLayout &panels) {
  return fmt::format("TilePanels<{}, {}, {}>", element, panels.rows, panels.columns);
}

}  // namespace

std::string fragments_type(const FragmentLayout &f) {
  using enum FragmentLayout::Unit;
  const std::string pieces = f.unit == matrices                    ? "MatrixPieces"
                             : f.unit == transposed_matrices       ? "TransposedMatrixPieces"
                             : f.unit == rows                      ? "SpreadPieces"
                             : f.unit == group_matrices            ? "GroupMatrixPieces"
                             : f.unit == transposed_group_matrices ? "TransposedGroupMatrixPieces"
                             : f.unit == group_rows                ? "GroupRowPieces"
                                                                   : fmt::format("ThreadPieces<{}>", f.together());
  return fmt::format("Fragments<{}, {}, {}, {}, {}>", pieces, f.rows, f.columns, f.down, f.across);
}

TilePlaces::TilePlaces(const Kernel &kernel) : allocations_(kernel.local_array_count, nullptr) {
  for_each_statement(kernel.body, [&](const Stmt &stmt) {
    if (auto *allocate = stmt.as<Allocate>()) allocations_[allocate->array] = allocate;
    if (auto *bring = stmt.as<BringWindows>())
      for (const BringWindows::Window &window : bring->windows)
        if (window.values) rings_of_values_.insert(window.ring.array);
    if (auto *product = stmt.as<StageProduct>(); product && product->sets)
      set_by_products_.insert(product->result.array);
    if (auto *loop = stmt.as<MainLoop>(); loop && !loop->by_bulk_copies())
      for (const Transfer &factor : loop->factors) rings_of_threads_.insert(factor.ring.array);
  });
}

std::string TilePlaces::rows_type(const TileMemory &memory) const {
  if (const PanelLayout *panels = panels_of(memory.array)) return panels_name(memory_name(memory.type), *panels);
  const TileShape shape = memory.type.shape();
  const RowLayout *known = rows_of(memory.array);
  return rows_name(memory_name(memory.type), known ? *known : RowLayout{shape[shape.rank() - 1], 0, false});
}

void TilePlaces::declare(const Allocate &allocate, SourceWriter &out) const {
  const std::string name = array_name(allocate.array);
  const std::string_view element = memory_name(allocate.type);
  if (const FragmentLayout *fragments = fragments_of(allocate.array)) {
    if (fragments->in_every_thread()) return out.line("Register<{}> {}[1];", element, name);
    out.line("using Sums{} = {};", allocate.array, fragments_type(*fragments));
    // Zeros would be moved to registers that a product overwrites.
    out.line("Register<{}> {}[Sums{}::registers]{};", element, name, allocate.array,
             set_by_products_.contains(allocate.array) ? "" : " = {}");
    return;
  }
  // The current stage of a ring of values has the ring's name.
  if (rings_of_values_.contains(allocate.array)) {
    internal_check(allocate.offset.has_value(), "a ring without a place");
    return out.line("{0} *const {1}_ring = reinterpret_cast<{0} *>(shared + {2});", element, name, *allocate.offset);
  }
  // Buffers have their own names, except those of a call that iterates over them itself.
  const PanelLayout *panels = panels_of(allocate.array);
  if (allocate.stages > 1 && !panels && !rings_of_threads_.contains(allocate.array)) return;
  if (panels && allocate.stages == 1) out.line("using Rows{} = {};", allocate.array, panels_name(element, *panels));
  if (const RowLayout *rows = rows_of(allocate.array))
    out.line("using Rows{} = {};", allocate.array, rows_name(element, *rows));
  const Allocate &memory = allocate.buffer ? *allocations_[allocate.buffer->of] : allocate;
  internal_check(memory.offset.has_value(), "a tile without a place");
  if (memory.sized_at_launch()) {
    internal_check(memory.units.has_value(), "memory of a launch's size without a place");
    return out.line("{0} *const {1} = reinterpret_cast<{0} *>(shared + {2} + i64({3}) * {4});", element, name,
                    *memory.offset, scalar_text(*memory.units), Allocate::unit_bytes);
  }
  const std::string buffer =
      allocate.buffer ? fmt::format(" + {} * ({})", bytes_of_buffer(memory.array), scalar_text(allocate.buffer->number))
                      : "";
  const std::string of_team = memory.team_bytes == 0 ? "" : fmt::format(" + team * {}", memory.team_bytes);
  out.line("{0} *const {1} = reinterpret_cast<{0} *>(shared + {2}{3}{4});", element, name, *memory.offset, buffer,
           of_team);
}

int TilePlaces::stages_of(LocalArrayId array) const { return allocations_[array]->stages; }
std::int64_t TilePlaces::bytes_of_buffer(LocalArrayId array) const {
  const Allocate &memory = *allocations_[array];
  return buffer_bytes(memory.layout, memory.type.element(), memory.size.as_int(), memory.stages);
}

std::optional<std::int64_t> TilePlaces::columns_of(LocalArrayId array) const {
  if (const RowLayout *rows = rows_of(array)) return rows->columns;
  if (const PanelLayout *panels = panels_of(array)) return panels->columns;
  return std::nullopt;
}

std::optional<std::string> TilePlaces::place_of_register(LocalArrayId array, LocalArrayId in_registers) const {
  if (columns_of(array) != fragments_of(in_registers)->columns) return std::nullopt;
  return fmt::format("{}[place_of_register<Rows{}, Sums{}>(r)]", array_name(array), array, in_registers);
}

std::string TilePlaces::element(LocalArrayId array, const std::string &index, const std::string &in_registers) const {
  const std::string name = array_name(array);
  if (const FragmentLayout *fragments = fragments_of(array))
    return fmt::format("{}[{}]", name, fragments->in_every_thread() ? "0" : in_registers);
  if (rows_of(array) || panels_of(array)) return fmt::format("{}[Rows{}::place({})]", name, array, index);
  return fmt::format("{}[{}]", name, index);
}

}  // namespace samite::codegen
