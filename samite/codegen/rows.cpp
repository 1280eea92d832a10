#include "samite/codegen/rows.h"

namespace samite::codegen {

using namespace ir;
using passes::Shape;

std::vector<Row> Rows::of(const For &loop, const passes::Uniformity &lanes) {
  std::vector<Row> rows;
  // Checks of indices belong to each access, not to a piece.
  if (emission_.options.debug || !loop.step.is_constant()) return rows;
  for (const Stmt &stmt : loop.body) {
    const Accumulate *candidate = stmt.as<Accumulate>();
    if (!candidate || !emission_.only_added_to(candidate->array) || sums_.of(*candidate)) continue;
    if (lanes.of(candidate->value) == Shape::Uniform || is_small_float(candidate->value.type())) continue;
    std::string step;
    for (std::size_t d = 0; d < candidate->indices.size(); ++d) {
      auto moves = emission_.forms.slope(candidate->indices[d], loop);
      if (lanes.of(candidate->indices[d]) != Shape::Uniform || !moves) {
        step.clear();
        break;
      }
      if (*moves == 0) continue;
      const bool dense = d + 1 == candidate->indices.size() && emission_.facts(candidate->array).unit_stride;
      step += fmt::format("{}{} * {}", step.empty() ? "" : " + ", *moves * loop.step.as_int(),
                          dense ? "i64(1)" : fmt::format("p{}.stride[{}]", candidate->array, d));
    }
    if (!step.empty()) rows.push_back({candidate, emission_.fresh("rows"), "", step});
  }
  const std::string count = rows.empty() ? "" : emission_.fresh("row");
  for (Row &row : rows) row.count = count;
  return rows;
}

const Row *Rows::find(const Accumulate &accumulate) const {
  for (const Row &row : rows_)
    if (row.statement == &accumulate) return &row;
  return nullptr;
}

}  // namespace samite::codegen
