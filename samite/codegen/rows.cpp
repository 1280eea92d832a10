#include "samite/codegen/rows.h"

namespace samite::codegen {

using namespace ir;

std::vector<Row> Rows::of(const For &loop) {
  std::vector<Row> rows;
  for (const Stmt &stmt : loop.body) {
    const Accumulate *sum = stmt.as<Accumulate>();
    if (!sum || !sum->over_lanes) continue;
    std::string step;
    for (std::size_t d = 0; d < sum->indices.size(); ++d) {
      const std::int64_t moves = emission_.forms().slope(sum->indices[d], loop).value_or(0);
      if (moves == 0) continue;
      const bool dense = d + 1 == sum->indices.size() && emission_.facts(sum->array).unit_stride;
      step += fmt::format("{}{} * {}", step.empty() ? "" : " + ", moves * loop.step.as_int(),
                          dense ? "i64(1)" : fmt::format("p{}.stride[{}]", sum->array, d));
    }
    rows.push_back({sum, emission_.fresh("rows"), "", step});
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
