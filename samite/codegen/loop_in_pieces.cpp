// Loops in which the lanes of vectors add to one element, another one in each iteration (codegen/rows.h). Where such a
// loop is not interchanged (passes/interchange.h), because a local array lives on or lanes leave an outer loop, its
// sums are put off (device/cpu/lanes/sum_rows.h).
#include "samite/codegen/kernel_emitter.h"

namespace samite::codegen {

using namespace ir;

void KernelEmitter::loop_in_pieces(const For &loop, const std::vector<Row> &rows) {
  loop_text_.declare(loop.carried, false);
  for (const Row &row : rows) {
    const auto element = scalar_name(row.statement->value.type());
    out_.line("SumRows<{}, {}> {};", element, !facts(row.statement->array).worker_private, row.name);
  }
  const std::string index = name(loop.index), condition = loop_text_.continues(loop, Shape::Uniform),
                    count = rows[0].count;
  out_.open("for ({} {} = {}; {};) {{", scalar_name(loop.type), index, scalar(loop.begin), condition);
  for (const Row &row : rows) out_.line("{} *{}_last = nullptr;", scalar_name(row.statement->value.type()), row.name);
  out_.line("i32 {} = 0;", count);
  out_.open("for (; {0} < lane_count && {1}; ++{0}, {2} += {3}) {{", count, condition, index, scalar(loop.step));
  rows_.open(rows);
  block(loop.body);
  rows_.close(rows.size());
  loop_text_.advance(loop.carried, false);
  out_.close();
  for (const Row &row : rows) out_.line("{0}.flush({0}_last, {1}, {2});", row.name, row.step, count);
  out_.close();
  loop_text_.name_results(loop.carried, false);
}

}  // namespace samite::codegen
