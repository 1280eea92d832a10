#include "samite/ir/layout.h"

#include "samite/base/error.h"
#include "samite/device/tile/place.h"

#include <fmt/format.h>

namespace samite::ir {
namespace {

constexpr int unit_bytes = 16;

std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return (a + b - 1) / b; }

int narrow(std::int64_t value) { return static_cast<int>(value); }

int first_of_all(int, int) { return 0; }

// A row for each kind of fragment.
struct UnitRow {
  FragmentLayout::Unit unit;
  std::string_view name;
  FragmentPiece piece;
  int (*row)(int thread, int r);
  int (*column)(int thread, int r);
};
using enum FragmentLayout::Unit;
constexpr UnitRow units[] = {
    {fours,
     "fours",
     {16, 32, 16, 4},
     [](int lane, int r) { return square_row(lane, r, 4); },
     [](int lane, int r) { return square_column(lane, r, 4); }},
    {singles,
     "singles",
     {4, 8, 1, 1},
     [](int lane, int r) { return square_row(lane, r, 1); },
     [](int lane, int r) { return square_column(lane, r, 1); }},
    {matrices, "matrices", {16, 8, 4, 2}, matrix_row, matrix_column},
    {transposed_matrices, "transposed_matrices", {8, 16, 4, 2}, transposed_matrix_row, transposed_matrix_column},
    {rows, "rows", {1, 128, 4, 4}, spread_row, spread_column},
    {group_matrices, "group_matrices", {64, 8, 4, 2, 128}, group_matrix_row, group_matrix_column},
    {transposed_group_matrices,
     "transposed_group_matrices",
     {8, 64, 4, 2, 128},
     transposed_group_matrix_row,
     transposed_group_matrix_column},
    {group_rows, "group_rows", {64, 1, 2, 1, 128}, group_row_row, group_row_column},
    {everywhere, "everywhere", {1, 1, 1, 1}, first_of_all, first_of_all},
};

const UnitRow &row_of(FragmentLayout::Unit unit) {
  for (const UnitRow &row : units)
    if (row.unit == unit) return row;
  throw InternalError("an unknown unit of fragments");
}

}  // namespace

std::int64_t RowLayout::place(std::int64_t row, std::int64_t column, std::size_t bytes) const {
  const struct {
    int columns, units, of_unit;
    bool swizzled;
  } rows{narrow(columns), narrow(units), unit_bytes / static_cast<int>(bytes), swizzled};
  return row_place(narrow(row), narrow(column), rows);
}

std::int64_t PanelLayout::place(std::int64_t row, std::int64_t column, std::size_t bytes) const {
  return panel_place(narrow(row), narrow(column), narrow(rows), unit_bytes / static_cast<int>(bytes));
}

FragmentPiece piece_of(FragmentLayout::Unit unit) { return row_of(unit).piece; }
std::string_view name(FragmentLayout::Unit unit) { return row_of(unit).name; }

std::optional<FragmentLayout::Unit> fragment_unit_from_name(std::string_view name) {
  for (const UnitRow &row : units)
    if (row.name == name) return row.unit;
  return std::nullopt;
}

std::int64_t FragmentLayout::registers() const {
  const FragmentPiece piece = piece_of(unit);
  return ceil_div(rows, piece.rows * down) * ceil_div(columns, piece.columns * across) * piece.registers;
}

std::int64_t FragmentLayout::together() const { return piece_of(unit).together; }
std::int64_t FragmentLayout::threads() const { return down * across * piece_of(unit).threads; }

std::int64_t FragmentLayout::row(int thread, std::int64_t element) const {
  if (in_every_thread()) return 0;
  const UnitRow &of_unit = row_of(unit);
  const FragmentPiece &piece = of_unit.piece;
  const int r = narrow(element), each = narrow(piece.registers);
  return piece_row(thread / piece.threads, r, narrow(across), narrow(ceil_div(rows, piece.rows * down)),
                   narrow(ceil_div(columns, piece.columns * across)), narrow(piece.rows), each) +
         of_unit.row(thread % piece.threads, r % each);
}

std::int64_t FragmentLayout::column(int thread, std::int64_t element) const {
  if (in_every_thread()) return 0;
  const UnitRow &of_unit = row_of(unit);
  const FragmentPiece &piece = of_unit.piece;
  const int r = narrow(element), each = narrow(piece.registers);
  return piece_column(thread / piece.threads, r, narrow(across), narrow(ceil_div(columns, piece.columns * across)),
                      narrow(piece.columns), each) +
         of_unit.column(thread % piece.threads, r % each);
}

bool FragmentLayout::holds(int thread, std::int64_t element) const {
  return row(thread, element) < rows && column(thread, element) < columns;
}

std::optional<FragmentLayout> FragmentLayout::of_rows() const {
  if (unit != group_matrices || across != 1) return std::nullopt;
  return FragmentLayout{group_rows, rows, 1, down, 1};
}

std::int64_t FragmentLayout::register_of_row(std::int64_t element) const {
  const FragmentPiece piece = piece_of(unit);
  return samite::register_of_row(narrow(element), narrow(ceil_div(columns, piece.columns * across)),
                                 narrow(piece.registers), narrow(piece.together));
}

std::int64_t bytes_of(const Layout &layout, ScalarType type, std::int64_t elements) {
  if (const auto *own = std::get_if<RowLayout>(&layout)) return elements / own->columns * own->units * unit_bytes;
  internal_check(!std::holds_alternative<FragmentLayout>(layout), "bytes of a tile in registers");
  return elements * static_cast<std::int64_t>(size_of(type));
}

std::int64_t buffer_bytes(const Layout &layout, ScalarType type, std::int64_t elements, int buffers) {
  const std::int64_t bytes = bytes_of(layout, type, elements);
  const std::int64_t alignment = memory_alignment(layout);
  return buffers > 1 ? ceil_div(bytes, alignment) * alignment : bytes;
}

std::int64_t memory_alignment(const Layout &layout) {
  constexpr std::int64_t of_any = 128, of_swizzle = 1024;
  return std::holds_alternative<PanelLayout>(layout) ? of_swizzle : of_any;
}

std::string to_string(const Layout &layout) {
  if (const auto *own = std::get_if<RowLayout>(&layout))
    return fmt::format("rows({}, {}{})", own->columns, own->units, own->swizzled ? ", swizzled" : "");
  if (const auto *own = std::get_if<FragmentLayout>(&layout))
    return fmt::format("fragments({}, {}, {}, {}, {})", name(own->unit), own->rows, own->columns, own->down,
                       own->across);
  if (const auto *own = std::get_if<PanelLayout>(&layout))
    return fmt::format("panels({}, {})", own->rows, own->columns);
  return "linear";
}

}  // namespace samite::ir
