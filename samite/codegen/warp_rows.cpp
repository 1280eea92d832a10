// Loops in which all threads of a warp add to one element, another one in each iteration, as in rows.cpp. Many threads
// that add to one element wait for each other; so the warp sums what its threads have of some iterations, all of them
// at once, and adds each sum with one thread.
//
// That takes a warp whose threads are all there and go through the loop alike, which is asked where the loop begins.
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

// Of instructions: as many as keep a multiprocessor busy, and no more than are compiled quickly.
constexpr std::size_t warp_lanes = 32, most_iterations = 8, most_in_pieces = 640, most_of_tile = 1024;
// With fewer iterations at once, what they share is little beside what each of them does.
constexpr std::size_t least_iterations = 4;

std::unordered_map<LocalId, const Operation *> lets_of(const Block &block) {
  std::unordered_map<LocalId, const Operation *> lets;
  for (const Stmt &stmt : block)
    if (const Let *let = stmt.as<Let>()) lets[let->local] = &let->value;
  return lets;
}

// The locals from before the loop that an index is made of.
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

// Not where a thread may end within a loop and leave the others waiting for it.
bool KernelEmitter::warps_may_work_together() const {
  return !target_.explicit_lanes() && launch_dimension_ > 0 && copy_ < 0 && !uses_workspace();
}

bool KernelEmitter::loop_of_warp(const For &loop) {
  std::vector<Rows> rows = rows_of(loop);
  WarpTile tile = warp_tile_of(loop);
  if (rows.empty() && tile.loads.empty()) return false;
  const ScalarType type = rows.empty() ? ScalarType::Bool : rows[0].statement->value.type().element();
  std::erase_if(rows, [&](const Rows &row) { return row.statement->value.type() != type; });
  if (rows.size() > warp_lanes / 2) rows.resize(warp_lanes / 2);
  const std::size_t of_one = instructions(loop.body);
  bool nested = false;
  for_each_statement(loop.body, [&](const Stmt &stmt) { nested = nested || stmt.as<For>() || stmt.as<While>(); });
  std::size_t iterations =
      rows.empty() ? warp_lanes : std::min(most_iterations, warp_lanes / std::bit_ceil(rows.size()));
  const std::size_t size = rows.empty() ? of_one * static_cast<std::size_t>(copies_) : of_one;
  while (iterations > 1 && iterations * size > (rows.empty() ? most_of_tile : most_in_pieces)) iterations /= 2;
  const bool small = !rows.empty() || of_one <= largest_unrolled;
  const bool in_pieces = iterations >= least_iterations && small && !nested;
  const bool tiled = in_pieces && !tile.loads.empty();
  if (!in_pieces && rows.empty()) return false;

  for_each_copy([&] { declare_carried(loop.carried, false); });
  if (tiled) declare_tile(tile);
  const std::string index = name(loop.index), whole = fresh("warp"), sums = fresh("rows"), row = fresh("row");
  out_.line("const bool {} = {};", whole, goes_together(loop, rows, tile));
  out_.line("{} {} = {};", scalar_name(loop.type), index, scalar(loop.begin));
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].name = sums, rows[i].number = i;
  const std::size_t outer = rows_.size();
  auto iterate = [&](const std::string &count) {
    for (Rows &each : rows) each.count = count, each.name = count.empty() ? whole : sums;
    rows_.insert(rows_.end(), rows.begin(), rows.end());
    if (side_by_side_)
      several(loop.body);
    else
      block(loop.body);
    rows_.resize(outer);
    for_each_copy([&] { advance_carried(loop.carried, false); });
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
  for_each_copy([&] { name_results(loop.carried, false); });
  return true;
}

// Whether the warp is whole, and its threads go through the loop alike. What is the same along the launch's last
// dimension may differ in a warp that is not all along it; and lanes that disagree about the loop would wait for each
// other.
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
  copy_ = side_by_side_ ? 0 : -1;
  for (const LocalId local : shared) together += fmt::format(" && same_in_warp({})", name(local));
  copy_ = -1;
  return together;
}

// Of instances side by side, what all of them add.
void KernelEmitter::add_row(const Rows &rows, const Accumulate &accumulate, SourceLocation where) {
  // The same element for all, whichever of them names it.
  copy_ = side_by_side_ ? 0 : -1;
  const Access to = access(accumulate.array, accumulate.indices, where);
  copy_ = -1;
  std::string value;
  for_each_copy([&] {
    const std::string one = scalar(accumulate.value);
    value = value.empty() ? one : fmt::format("sum_of({}, {})", value, one);
  });
  if (rows.count.empty())
    out_.line("add_of_warp({}, &{}, {});", rows.name, to.element, value);
  else
    out_.line("{}.put({}, {}, &{}, {});", rows.name, rows.number, rows.count, to.element, value);
}

}  // namespace samite::codegen
