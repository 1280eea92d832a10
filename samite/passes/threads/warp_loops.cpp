#include "samite/passes/threads/warp_loops.h"

#include "samite/ir/visit.h"
#include "samite/passes/analysis/op_cost.h"
#include "samite/passes/simplify/rewrite.h"
#include "samite/passes/threads/place_arrays.h"
#include "samite/passes/threads/side_by_side.h"
#include "samite/passes/threads/sum_over_lanes.h"

#include <algorithm>
#include <bit>
#include <unordered_map>
#include <utility>

namespace samite::passes {

using namespace ir;

namespace {

// Limits in instructions: enough to keep a multiprocessor busy, and few enough to compile quickly.
constexpr std::size_t most_iterations = 8, most_in_pieces = 640, most_of_tile = 1024;
// With fewer iterations at once, sharing the shuffles saves little.
constexpr std::size_t least_iterations = 4;
// Bytes of each thread: for a row, and for all rows of a kernel. Within this limit shared memory does not limit the
// concurrent threads of a multiprocessor.
constexpr std::size_t most_row_bytes = 64, most_bytes = 64;

class Decider {
 public:
  Decider(const Kernel &planned, const FactsOfArrays &arrays)
      : arrays_(arrays),
        lanes_(uniformity(planned)),
        sums_(planned, lanes_),
        instances_(instances_of_thread(planned)),
        used_(planned.local_count, false),
        written_(planned.parameters.size(), false) {
    for_each_statement(planned.body, [&](const Stmt &stmt) {
      for_each_operand(stmt, [&](const Value &value) {
        if (value.is_local()) used_[value.id()] = true;
      });
      if (auto array = array_written(stmt)) written_[*array] = true;
    });
  }

  Stmt operator()(const Stmt &stmt) {
    const For *loop = stmt.as<For>();
    if (!loop || loop->kind != LoopKind::Serial || !whole_warps(*loop) || lanes_.divergent(*loop)) return stmt;
    std::vector<std::size_t> sums = sums_of(*loop);
    const std::vector<std::size_t> loads = loads_of(*loop);
    const int iterations = iterations_at_once(*loop, sums.size(), loads.size());
    if (iterations == 0) return stmt;
    For marked = with_sums_over_lanes(*loop, sums);
    marked.threads.by_warp = iterations;
    if (iterations > 1) load_by_warps(marked, loads);
    return {std::move(marked), stmt.where()};
  }

 private:
  // If threads run several instances together, warps are complete in the loops of all instances, not in those of the
  // last ones.
  bool whole_warps(const For &loop) const { return loop.threads.instances == instances_ && !loop.rolled; }

  // Sums of one type are combined, up to this many.
  std::vector<std::size_t> sums_of(const For &loop) const {
    std::vector<std::size_t> sums = sums_.of(loop);
    if (sums.empty()) return sums;
    const auto type = [&](std::size_t place) { return loop.body[place].as<Accumulate>()->value.type(); };
    std::erase_if(sums, [&, first = type(sums[0])](std::size_t place) { return !(type(place) == first); });
    if (sums.size() > threads_of_warp / 2) sums.resize(threads_of_warp / 2);
    return sums;
  }

  // Loads of constant arrays, by their positions in the loop's body.
  std::vector<std::size_t> loads_of(const For &loop) const {
    std::vector<std::size_t> places;
    if (!loop.step.is_constant()) return places;
    bool apart = false;
    for_each_statement(loop.body, [&](const Stmt &stmt) {
      apart = apart || stmt.as<For>() || stmt.as<While>() || stmt.as<Print>() || stmt.as<Check>();
    });
    if (apart) return places;
    std::set<LocalId> inside;
    for_each_statement(loop.body, [&](const Stmt &stmt) {
      for_each_definition(stmt, [&](LocalId local, ScalarType) { inside.insert(local); });
    });
    std::vector<const Operation *> found;
    for (std::size_t i = 0; i < loop.body.size(); ++i) {
      const Let *let = loop.body[i].as<Let>();
      if (!let || let->value.op != Op::Load || !used_[let->local] || !constant(let->value.array)) continue;
      bool moves = false, same = true;
      for (const Value &index : let->value.operands) {
        if (!index.is_local()) continue;
        moves = moves || index.id() == loop.index;
        same = same && lanes_.of(index) == Shape::Uniform && !inside.contains(index.id());
      }
      if (!moves || !same) continue;
      found.push_back(&let->value);
      const std::size_t bytes = bytes_of_row(found);
      if (bytes > most_row_bytes || bytes_ + bytes > most_bytes)
        found.pop_back();
      else
        places.push_back(i);
    }
    return places;
  }

  // 0: the warp gains nothing.
  static int iterations_at_once(const For &loop, std::size_t sums, std::size_t loads) {
    if (sums == 0 && loads == 0) return 0;
    bool nested = false;
    for_each_statement(loop.body, [&](const Stmt &stmt) { nested = nested || stmt.as<For>() || stmt.as<While>(); });
    const std::size_t of_one = instructions_of_one(loop), size = sums == 0 ? instructions(loop.body) : of_one;
    std::size_t iterations =
        sums == 0 ? threads_of_warp : std::min(most_iterations, threads_of_warp / std::bit_ceil(sums));
    while (iterations > 1 && iterations * size > (sums == 0 ? most_of_tile : most_in_pieces)) iterations /= 2;
    const bool small = sums != 0 || may_be_unrolled(loop);
    if (iterations >= least_iterations && small && !nested) return static_cast<int>(iterations);
    return sums == 0 ? 0 : 1;
  }

  void load_by_warps(For &loop, const std::vector<std::size_t> &places) {
    std::vector<const Operation *> loads;
    for (const std::size_t place : places) {
      Let marked = *loop.body[place].as<Let>();
      marked.value.attribute |= load_by_warp;
      loop.body[place] = Stmt(std::move(marked), loop.body[place].where());
      loads.push_back(&loop.body[place].as<Let>()->value);
    }
    if (!loads.empty()) bytes_ += bytes_of_row(loads);
  }

  bool constant(std::uint32_t array) const { return !written_[array] && facts_of(arrays_, array).unaliased; }

  const FactsOfArrays &arrays_;
  const Uniformity lanes_;  // if a warp spans the last dimension
  const LaneSums sums_;
  const std::int64_t instances_;
  std::vector<bool> used_;     // by LocalId: whether it is read
  std::vector<bool> written_;  // by parameter
  std::size_t bytes_ = 0;      // of a thread, in all rows so far
};

std::unordered_map<LocalId, const Operation *> lets_of(const Block &block) {
  std::unordered_map<LocalId, const Operation *> lets;
  for (const Stmt &stmt : block)
    if (const Let *let = stmt.as<Let>()) lets[let->local] = &let->value;
  return lets;
}

// Adds the locals from before the loop on which an index depends.
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

Kernel warp_loops(Kernel planned, const FactsOfArrays &arrays) {
  // A thread that gets no memory may end within a loop: the other threads of its warp would wait for it.
  if (is_tile_kernel(planned) || uses_workspace(planned)) return planned;
  Decider decide(planned, arrays);
  planned.body = rewrite(planned.body, [&](const Stmt &stmt) { return decide(stmt); });
  return planned;
}

// A value that is constant along the launch's last dimension may differ in a warp that spans several rows. Threads with
// different trip counts would deadlock.
std::set<LocalId> same_in_warp(const For &loop) {
  std::set<LocalId> shared;
  for (const Value &bound : {loop.begin, loop.end})
    if (bound.is_local()) shared.insert(bound.id());
  const std::unordered_map<LocalId, const Operation *> inside = lets_of(loop.body);
  const auto add = [&](const std::vector<Value> &indices) {
    for (const Value &value : indices) add_sources(value, loop.index, inside, shared);
  };
  for (const Stmt &stmt : loop.body) {
    if (const Accumulate *sum = stmt.as<Accumulate>(); sum && sum->over_lanes) add(sum->indices);
    if (const Let *let = stmt.as<Let>(); let && is_load_by_warp(let->value)) add(let->value.operands);
  }
  return shared;
}

std::size_t bytes_of_row(const std::vector<const Operation *> &loads) {
  std::size_t bytes = 0;
  for (const Operation *load : loads) bytes += std::max<std::size_t>(size_of(load->type), 4);
  return std::max(std::bit_ceil(std::min<std::size_t>(bytes, 16)), (bytes + 15) / 16 * 16);
}

}  // namespace samite::passes
