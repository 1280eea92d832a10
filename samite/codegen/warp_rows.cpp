// Loops in which all threads of a warp add to one element, another element in each iteration, as in rows.cpp. Many
// threads that add to one element wait for each other. So the warp sums the contributions of its threads, for several
// iterations together, and one thread adds each sum.
//
// All threads of the warp must be active and must run the same iterations. The emitted code tests that before the loop.
#include "samite/codegen/kernel_emitter.h"
#include "samite/codegen/spelling.h"
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

// False where a thread may end within a loop: the other threads of the warp would wait for it. Where threads run
// several instances at a time, warps are together in the loops that all of them go through, not in those of the last
// instances.
bool KernelEmitter::warps_may_work_together(const For &loop) const {
  const bool whole = loop.instances == options_.cuda.instances_per_thread;
  return !explicit_lanes() && launch_dimension_ > 0 && whole && !loop.rolled && !uses_workspace_;
}

bool KernelEmitter::loop_of_warp(const For &loop) {
  std::vector<Rows> rows = rows_of(loop);
  WarpTile tile = warp_tile_of(loop);
  if (rows.empty() && tile.loads.empty()) return false;
  const ScalarType type = rows.empty() ? ScalarType::Bool : rows[0].statement->value.type().element();
  std::erase_if(rows, [&](const Rows &row) { return row.statement->value.type() != type; });
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
  const bool tiled = in_pieces && !tile.loads.empty();
  if (!in_pieces && rows.empty()) return false;

  declare_carried(loop.carried, false);
  if (tiled) declare_tile(tile);
  const std::string index = name(loop.index), whole = fresh("warp"), sums = fresh("rows"), row = fresh("row");
  out_.line("const bool {} = {};", whole, goes_together(loop, rows, tile));
  out_.line("{} {} = {};", scalar_name(loop.type), index, scalar(loop.begin));
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].name = sums, rows[i].number = i;
  const std::size_t outer = rows_.size();
  auto iterate = [&](const std::string &count) {
    for (Rows &each : rows) each.count = count, each.name = count.empty() ? whole : sums;
    rows_.insert(rows_.end(), rows.begin(), rows.end());
    block(loop.body);
    rows_.resize(outer);
    advance_carried(loop.carried, false);
  };
  if (in_pieces) {
    const std::int64_t step = loop.step.as_int();
    const std::int64_t last = step * (static_cast<std::int64_t>(tiled ? warp_lanes : iterations) - 1);
    out_.open("while ({} && i64({}) - i64({}) {} {}) {{", whole, scalar(loop.end), index, step > 0 ? ">" : "<", last);
    std::string place = row;
    if (tiled) {
      fill_tile(loop, tile);
      const std::string piece = fresh("piece");
      place = fmt::format("{} + {}", piece, row);
      out_.line("#pragma unroll 1");
      out_.open("for (i32 {0} = 0; {0} < {1}; {0} += {2}) {{", piece, warp_lanes, iterations);
      tiles_.push_back(tile);
    }
    if (!rows.empty()) out_.line("WarpRows<{}, {}, {}> {};", scalar_name(type), rows.size(), iterations, sums);
    out_.line("#pragma unroll");
    out_.open("for (i32 {0} = 0; {0} < {1}; ++{0}, {2} += {3}) {{", row, iterations, index, scalar(loop.step));
    if (tiled) out_.line("const {} {} = {}[{}];", tile.row_type, tile.row, tile.rows, place);
    iterate(row);
    out_.close();
    if (!rows.empty()) {
      std::string steps;
      for (const Rows &each : rows) steps += fmt::format("{}{}", steps.empty() ? "" : ", ", each.step);
      out_.line("const i64 steps[] = {{{}}};", steps);
      out_.line("{}.add(steps);", sums);
    }
    if (tiled) {
      tiles_.pop_back();
      out_.close();
    }
    out_.close();
  }
  if (in_pieces || size > largest_unrolled) out_.line("#pragma unroll 1");
  out_.open("for (; {}; {} += {}) {{", continues(loop, Shape::Uniform), index, scalar(loop.step));
  iterate("");
  out_.close();
  name_results(loop.carried, false);
  return true;
}

// The condition that all threads of the warp are active and run the same iterations. A value that is the same along the
// launch's last dimension may differ in a warp that spans several rows. Threads that disagree about the loop would wait
// for each other.
std::string KernelEmitter::goes_together(const For &loop, const std::vector<Rows> &rows, const WarpTile &tile) {
  std::set<LocalId> shared;
  for (const Value &bound : {loop.begin, loop.end})
    if (bound.is_local()) shared.insert(bound.id());
  const std::unordered_map<LocalId, const Operation *> inside = lets_of(loop.body);
  for (const Rows &each : rows)
    for (const Value &value : each.statement->indices) add_sources(value, loop.index, inside, shared);
  for (const Operation *load : tile.loads)
    for (const Value &value : load->operands) add_sources(value, loop.index, inside, shared);
  std::string together = "whole_warp()";
  for (const LocalId local : shared) together += fmt::format(" && same_in_warp({})", name(local));
  return together;
}

// The contribution of a thread.
void KernelEmitter::add_row(const Rows &rows, const Accumulate &accumulate, SourceLocation where) {
  const Access to = memory_.access(accumulate.array, accumulate.indices, where);
  const std::string value = scalar(accumulate.value);
  if (rows.count.empty())
    out_.line("add_of_warp({}, &{}, {});", rows.name, to.element, value);
  else
    out_.line("{}.put({}, {}, &{}, {});", rows.name, rows.number, rows.count, to.element, value);
}

}  // namespace samite::codegen
