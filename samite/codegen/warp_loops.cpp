#include "samite/codegen/warp_loops.h"

#include "samite/codegen/op_cost.h"
#include "samite/ir/visit.h"

#include <algorithm>
#include <bit>
#include <set>
#include <unordered_map>

namespace samite::codegen {

using namespace ir;

namespace {

// Limits in instructions: enough to keep a multiprocessor busy, and few enough to compile quickly.
constexpr std::size_t warp_lanes = 32, most_iterations = 8, most_in_pieces = 640, most_of_tile = 1024;
// With fewer iterations together, the shuffles that they share save little.
constexpr std::size_t least_iterations = 4;

std::unordered_map<LocalId, const Operation *> lets_of(const Block &block) {
  std::unordered_map<LocalId, const Operation *> lets;
  for (const Stmt &stmt : block)
    if (const Let *let = stmt.as<Let>()) lets[let->local] = &let->value;
  return lets;
}

// Adds the locals from before the loop from which an index is computed.
void add_sources(const Value &value, LocalId loop_index, const std::unordered_map<LocalId, const Operation *> &inside,
                 std::set<LocalId> &sources) {
  if (!value.is_local() || value.id() == loop_index) return;
  auto found = inside.find(value.id());
  if (found == inside.end()) {
    sources.insert(value.id());
    return;
  }
  for (const Value &operand : found->second->operands) add_sources(operand, loop_index, inside, sources);
}

}  // namespace

WarpLoops::WarpLoops(Emission &emission, const Values &values, MemoryAccess &memory, Rows &rows, LoopText &loops,
                     ElementCode &code)
    : emission_(emission),
      values_(values),
      memory_(memory),
      rows_(rows),
      loops_(loops),
      code_(code),
      of_warp_(values.explicit_lanes() ? passes::Uniformity() : passes::uniformity(emission.kernel)) {}

// False where a thread may end within a loop: the other threads of the warp would wait for it. Where threads run
// several instances at a time, warps are together in the loops that all of them go through, not in those of the last
// instances.
bool WarpLoops::may_work_together(const For &loop) const {
  const bool whole = loop.instances == emission_.options.cuda.instances_per_thread;
  return whole && !loop.rolled && !emission_.uses_workspace;
}

bool WarpLoops::loop(const For &loop) {
  if (!may_work_together(loop) || of_warp_.divergent(loop)) return false;
  std::vector<Row> rows = rows_.of(loop, of_warp_);
  Loads loads = loads_of(loop);
  if (rows.empty() && loads.loads.empty()) return false;
  const ScalarType type = rows.empty() ? ScalarType::Bool : rows[0].statement->value.type().element();
  std::erase_if(rows, [&](const Row &row) { return row.statement->value.type() != type; });
  if (rows.size() > warp_lanes / 2) rows.resize(warp_lanes / 2);
  const std::size_t of_one = instructions_of_one(loop);
  bool nested = false;
  for_each_statement(loop.body, [&](const Stmt &stmt) { nested = nested || stmt.as<For>() || stmt.as<While>(); });
  std::size_t iterations =
      rows.empty() ? warp_lanes : std::min(most_iterations, warp_lanes / std::bit_ceil(rows.size()));
  const std::size_t size = rows.empty() ? instructions(loop.body) : of_one;
  while (iterations > 1 && iterations * size > (rows.empty() ? most_of_tile : most_in_pieces)) iterations /= 2;
  const bool small = !rows.empty() || of_one <= largest_unrolled;
  const bool in_pieces = iterations >= least_iterations && small && !nested;
  const bool tiled = in_pieces && !loads.loads.empty();
  if (!in_pieces && rows.empty()) return false;

  loops_.declare(loop.carried, false);
  if (tiled) declare(loads);
  const std::string index = values_.name(loop.index), whole = emission_.fresh("warp"), sums = emission_.fresh("rows"),
                    row = emission_.fresh("row");
  emission_.out.line("const bool {} = {};", whole, goes_together(loop, rows, loads));
  emission_.out.line("{} {} = {};", scalar_name(loop.type), index, values_.scalar(loop.begin));
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].name = sums, rows[i].number = i;
  auto iterate = [&](const std::string &count) {
    for (Row &each : rows) each.count = count, each.name = count.empty() ? whole : sums;
    rows_.open(rows);
    code_.block(loop.body);
    rows_.close(rows.size());
    loops_.advance(loop.carried, false);
  };
  if (in_pieces) {
    const std::int64_t step = loop.step.as_int();
    const std::int64_t last = step * (static_cast<std::int64_t>(tiled ? warp_lanes : iterations) - 1);
    emission_.out.open("while ({} && i64({}) - i64({}) {} {}) {{", whole, values_.scalar(loop.end), index,
                       step > 0 ? ">" : "<", last);
    std::string place = row;
    if (tiled) {
      fill(loop, loads);
      const std::string piece = emission_.fresh("piece");
      place = fmt::format("{} + {}", piece, row);
      emission_.out.line("#pragma unroll 1");
      emission_.out.open("for (i32 {0} = 0; {0} < {1}; {0} += {2}) {{", piece, warp_lanes, iterations);
      loads_.push_back(loads);
    }
    if (!rows.empty()) emission_.out.line("WarpRows<{}, {}, {}> {};", scalar_name(type), rows.size(), iterations, sums);
    emission_.out.line("#pragma unroll");
    emission_.out.open("for (i32 {0} = 0; {0} < {1}; ++{0}, {2} += {3}) {{", row, iterations, index,
                       values_.scalar(loop.step));
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
  if (in_pieces || size > largest_unrolled) emission_.out.line("#pragma unroll 1");
  emission_.out.open("for (; {}; {} += {}) {{", loops_.continues(loop, passes::Shape::Uniform), index,
                     values_.scalar(loop.step));
  iterate("");
  emission_.out.close();
  loops_.name_results(loop.carried, false);
  return true;
}

// The condition that all threads of the warp are active and run the same iterations. A value that is the same along the
// launch's last dimension may differ in a warp that spans several rows. Threads that disagree about the loop would wait
// for each other.
std::string WarpLoops::goes_together(const For &loop, const std::vector<Row> &rows, const Loads &loads) const {
  std::set<LocalId> shared;
  for (const Value &bound : {loop.begin, loop.end})
    if (bound.is_local()) shared.insert(bound.id());
  const std::unordered_map<LocalId, const Operation *> inside = lets_of(loop.body);
  for (const Row &each : rows)
    for (const Value &value : each.statement->indices) add_sources(value, loop.index, inside, shared);
  for (const Operation *load : loads.loads)
    for (const Value &value : load->operands) add_sources(value, loop.index, inside, shared);
  std::string together = "whole_warp()";
  for (const LocalId local : shared) together += fmt::format(" && same_in_warp({})", values_.name(local));
  return together;
}

// The contribution of a thread.
void WarpLoops::add(const Row &row, const Accumulate &accumulate, SourceLocation where) {
  const Access to = memory_.access(accumulate.array, accumulate.indices, where);
  const std::string value = values_.scalar(accumulate.value);
  if (row.count.empty())
    emission_.out.line("add_of_warp({}, &{}, {});", row.name, to.element, value);
  else
    emission_.out.line("{}.put({}, {}, &{}, {});", row.name, row.number, row.count, to.element, value);
}

}  // namespace samite::codegen
