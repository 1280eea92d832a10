#include "samite/passes/sm90/group_sums.h"

#include "samite/ir/op.h"
#include "samite/ir/tile_rules.h"

#include <algorithm>
#include <array>

namespace samite::passes {
namespace {

using namespace ir;
using Unit = FragmentLayout::Unit;

constexpr std::int64_t group_threads = 128, most_registers = 128;  // of a thread, for sums
constexpr std::int64_t other_registers = 40;
constexpr std::int64_t bytes_of_terms = 32;  // of a row, that an instruction multiplies

// The widths, for one warp group, of the factor that the instructions read from shared memory. The hardware supports
// further multiples of 8, which the device code lacks.
constexpr std::array<std::int64_t, 16> widths{8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256};
bool is_width_of_product(std::int64_t lines) { return std::ranges::find(widths, lines) != widths.end(); }

std::int64_t bytes_of(const Type &type) { return static_cast<std::int64_t>(size_of(type.element())); }

struct Layout {
  FragmentLayout sums;
  std::int64_t loads;  // from shared memory, by a group, for each term
};

// The best of all arrangements of the groups: the one with the fewest `loads`. None if that is 0. Each thread has
// registers for its sums even with four additional producer warps.
template <class Loads>
std::optional<Layout> best_layout(Unit unit, const MatMulExtents &e, std::int64_t threads,
                                  const Architecture &architecture, const Loads &loads) {
  std::optional<Layout> best;
  for (std::int64_t down = 1; down <= threads / group_threads; ++down) {
    const std::int64_t across = threads / group_threads / down;
    if (down * across * group_threads != threads || e.rows % down != 0 || e.columns % across != 0) continue;
    const FragmentLayout tried{unit, e.rows, e.columns, down, across};
    const std::int64_t own = loads(e.rows / down, e.columns / across);
    if (own == 0 || tried.registers() > most_registers ||
        (threads + group_threads) * (tried.registers() + other_registers) > architecture.registers)
      continue;
    if (!best || own < best->loads) best = {tried, own};
  }
  return best;
}

// Both factors from shared memory.
std::optional<Layout> from_memory(const Type &a, const Type &sums, std::int32_t attribute, std::int64_t threads,
                                  const Architecture &architecture) {
  const MatMulExtents e = matmul_extents(a, sums, attribute);
  const std::int64_t height = piece_of(Unit::group_matrices).rows, of_panel = panel_bytes / bytes_of(a);
  // If rows of b are across the terms, a group begins with a panel; groups of a always do, since its 64 rows are a
  // panel of 16 bits.
  const bool b_across = !(attribute & transposed_b);
  if (e.inner * bytes_of(a) % bytes_of_terms != 0) return std::nullopt;
  return best_layout(Unit::group_matrices, e, threads, architecture,
                     [&](std::int64_t rows, std::int64_t columns) -> std::int64_t {
                       const bool begins = columns == e.columns || !b_across || columns % of_panel == 0;
                       const bool few = rows == e.rows && rows < height && rows % 8 == 0 && !(attribute & transposed_a);
                       if ((rows % height != 0 && !few) || !is_width_of_product(columns) || !begins) return 0;
                       return (few ? 1 : rows / height) * (height + columns);
                     });
}

// The transposes, with b in registers.
std::optional<Layout> turned(const Type &a, const Type &sums, std::int32_t attribute, std::int64_t threads,
                             const Architecture &architecture) {
  constexpr std::int64_t bytes = 4, terms_of_product = 8, words_of_product = 4, most_in_all = 208;
  if (bytes_of(a) != bytes) return std::nullopt;
  const MatMulExtents e = matmul_extents(a, sums, attribute);
  const std::int64_t width = piece_of(Unit::transposed_group_matrices).columns;
  return best_layout(Unit::transposed_group_matrices, e, threads, architecture,
                     [&](std::int64_t rows, std::int64_t columns) -> std::int64_t {
                       if (columns % width != 0 || !is_width_of_product(rows)) return 0;
                       // b of a step and of the next one, besides the sums.
                       const std::int64_t pieces = columns / width, own = rows * columns / group_threads,
                                          of_b = pieces * e.inner / terms_of_product * words_of_product;
                       return own + 2 * of_b > most_in_all ? 0 : pieces * (width + rows);
                     });
}

}  // namespace

std::string widths_beside(std::int64_t columns) {
  if (columns > widths.back() || is_width_of_product(columns)) return "";
  const auto above = std::ranges::lower_bound(widths, columns);
  const std::string wider = std::to_string(*above);
  return above == widths.begin() ? wider : std::to_string(*(above - 1)) + " or " + wider;
}

std::optional<FragmentLayout> group_sums(const Type &a, const Type &sums, std::int32_t attribute, std::int64_t threads,
                                         const Architecture &architecture) {
  const std::optional<Layout> plain = from_memory(a, sums, attribute, threads, architecture);
  if (!(attribute & transposed_a) && attribute & transposed_b)
    if (const auto other = turned(a, sums, attribute, threads, architecture); other)
      if (!plain || other->loads < plain->loads) return other->sums;
  return plain ? std::optional(plain->sums) : std::nullopt;
}

std::optional<FragmentLayout> turned_group_sums(const Type &a, const Type &sums, std::int32_t attribute,
                                                std::int64_t threads, const Architecture &architecture) {
  if (attribute & transposed_b) return std::nullopt;
  const auto found = turned(a, sums, attribute, threads, architecture);
  return found ? std::optional(found->sums) : std::nullopt;
}

}  // namespace samite::passes
