// Loops in which all lanes add to one element, another one in each iteration: what an all-pairs loop owes to the other
// body. Where such a loop is not interchanged (passes/interchange.h), because a local array lives on or lanes leave an
// outer loop, the sums over the lanes are put off and done for many iterations at once (device/cpu/lanes/sum_rows.h).
#include "samite/codegen/kernel_emitter.h"
#include "samite/codegen/spelling.h"

#include <optional>

namespace samite::codegen {

using namespace ir;

std::vector<KernelEmitter::Rows> KernelEmitter::rows_of(const For &loop) {
  std::vector<Rows> rows;
  const passes::Uniformity &lanes = explicit_lanes() ? uniformity_ : of_warp_;
  const bool in_step = in_lanes() || (warps_may_work_together(loop) && !lanes.divergent(loop));
  // Checks of indices belong to each access, not to a piece.
  if (!in_step || options_.debug || !loop.step.is_constant()) return rows;
  for (const Stmt &stmt : loop.body) {
    const Accumulate *candidate = stmt.as<Accumulate>();
    if (!candidate || !emission_.only_added_to(candidate->array) || sums_.of(*candidate)) continue;
    if (lanes.of(candidate->value) == Shape::Uniform || is_small_float(candidate->value.type())) continue;
    std::string step;
    for (std::size_t d = 0; d < candidate->indices.size(); ++d) {
      auto moves = index_forms_.slope(candidate->indices[d], loop);
      if (lanes.of(candidate->indices[d]) != Shape::Uniform || !moves) {
        step.clear();
        break;
      }
      if (*moves == 0) continue;
      const bool dense = d + 1 == candidate->indices.size() && facts(candidate->array).unit_stride;
      step += fmt::format("{}{} * {}", step.empty() ? "" : " + ", *moves * loop.step.as_int(),
                          dense ? "i64(1)" : fmt::format("p{}.stride[{}]", candidate->array, d));
    }
    if (!step.empty()) rows.push_back({candidate, fresh("rows"), "", step});
  }
  const std::string count = rows.empty() ? "" : fresh("row");
  for (Rows &row : rows) row.count = count;
  return rows;
}

const KernelEmitter::Rows *KernelEmitter::rows_for(const Accumulate &accumulate) const {
  for (const Rows &rows : rows_)
    if (rows.statement == &accumulate) return &rows;
  return nullptr;
}

void KernelEmitter::loop_in_pieces(const For &loop, std::vector<Rows> rows) {
  declare_carried(loop.carried, false);
  for (const Rows &row : rows) {
    const auto element = scalar_name(row.statement->value.type());
    out_.line("SumRows<{}, {}> {};", element, !facts(row.statement->array).worker_private, row.name);
  }
  const std::string index = name(loop.index), condition = continues(loop, Shape::Uniform), count = rows[0].count;
  out_.open("for ({} {} = {}; {};) {{", scalar_name(loop.type), index, scalar(loop.begin), condition);
  for (const Rows &row : rows) out_.line("{} *{}_last = nullptr;", scalar_name(row.statement->value.type()), row.name);
  out_.line("i32 {} = 0;", count);
  out_.open("for (; {0} < lane_count && {1}; ++{0}, {2} += {3}) {{", count, condition, index, scalar(loop.step));
  const std::size_t outer = rows_.size();
  rows_.insert(rows_.end(), rows.begin(), rows.end());
  block(loop.body);
  rows_.resize(outer);
  advance_carried(loop.carried, false);
  out_.close();
  for (const Rows &row : rows) out_.line("{0}.flush({0}_last, {1}, {2});", row.name, row.step, count);
  out_.close();
  name_results(loop.carried, false);
}

}  // namespace samite::codegen
