#include "samite/codegen/warp_loops.h"

#include "samite/passes/analysis/op_cost.h"
#include "samite/passes/threads/warp_loops.h"

namespace samite::codegen {

using namespace ir;

WarpLoops::WarpLoops(Emission &emission, ThreadAccess &access, Rows &rows, LoopText &loops, ElementCode &code)
    : emission_(emission), access_(access), rows_(rows), loops_(loops), code_(code) {}

bool WarpLoops::loop(const For &loop) {
  if (loop.threads.by_warp == 0) return false;
  std::vector<Row> rows = rows_.of(loop);
  Loads loads = loads_of(loop);
  const int iterations = loop.threads.by_warp;
  const bool in_pieces = iterations > 1, tiled = !loads.loads.empty();

  loops_.declare(loop.carried);
  if (tiled) declare(loads);
  const std::string index = local_name(loop.index), whole = emission_.fresh("warp"), sums = emission_.fresh("rows"),
                    row = emission_.fresh("row");
  emission_.out.line("const bool {} = {};", whole, goes_together(loop));
  emission_.out.line("{} {} = {};", scalar_name(loop.type), index, scalar_text(loop.begin));
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].name = sums, rows[i].number = i;
  auto iterate = [&](const std::string &count) {
    for (Row &each : rows) each.count = count, each.name = count.empty() ? whole : sums;
    rows_.open(rows);
    code_.block(loop.body);
    rows_.close(rows.size());
    loops_.advance(loop.carried);
  };
  if (in_pieces) {
    const std::int64_t step = loop.step.as_int();
    const std::int64_t last = step * ((tiled ? passes::threads_of_warp : iterations) - 1);
    emission_.out.open("while ({} && i64({}) - i64({}) {} {}) {{", whole, scalar_text(loop.end), index,
                       step > 0 ? ">" : "<", last);
    std::string place = row;
    if (tiled) {
      fill(loop, loads);
      const std::string piece = emission_.fresh("piece");
      place = fmt::format("{} + {}", piece, row);
      emission_.out.line("#pragma unroll 1");
      emission_.out.open("for (i32 {0} = 0; {0} < {1}; {0} += {2}) {{", piece, passes::threads_of_warp, iterations);
      loads_.push_back(loads);
    }
    if (!rows.empty())
      emission_.out.line("WarpRows<{}, {}, {}> {};", scalar_name(rows[0].statement->value.type()), rows.size(),
                         iterations, sums);
    emission_.out.line("#pragma unroll");
    emission_.out.open("for (i32 {0} = 0; {0} < {1}; ++{0}, {2} += {3}) {{", row, iterations, index,
                       scalar_text(loop.step));
    if (tiled) emission_.out.line("const {} {} = {}[{}];", loads.row_type, loads.row, loads.rows, place);
    iterate(row);
    emission_.out.close();
    if (!rows.empty()) {
      std::string steps;
      for (const Row &each : rows) steps += fmt::format("{}{}", steps.empty() ? "" : ", ", each.step);
      emission_.out.line("const i64 steps[] = {{{}}};", steps);
      emission_.out.line("{}.add(steps);", sums);
    }
    if (tiled) {
      loads_.pop_back();
      emission_.out.close();
    }
    emission_.out.close();
  }
  if (in_pieces || !passes::may_be_unrolled(loop)) emission_.out.line("#pragma unroll 1");
  emission_.out.open("for (; {}; {} += {}) {{", loops_.continues(loop), index, scalar_text(loop.step));
  iterate("");
  emission_.out.close();
  loops_.name_results(loop.carried);
  return true;
}

// The condition that all threads of the warp are active and run the same iterations.
std::string WarpLoops::goes_together(const For &loop) const {
  std::string together = "whole_warp()";
  for (const LocalId local : passes::same_in_warp(loop))
    together += fmt::format(" && same_in_warp({})", local_name(local));
  return together;
}

// The contribution of a thread.
void WarpLoops::add(const Row &row, const Accumulate &accumulate, SourceLocation where) {
  const ThreadElement to = access_.element(accumulate.array, accumulate.indices, where);
  const std::string value = scalar_text(accumulate.value);
  if (row.count.empty())
    emission_.out.line("add_of_warp({}, &{}, {});", row.name, to.lvalue, value);
  else
    emission_.out.line("{}.put({}, {}, &{}, {});", row.name, row.number, row.count, to.lvalue, value);
}

}  // namespace samite::codegen
