// A thread loop tile by tile, as `codegen/tiles.h` plans it.
//
// A run is a loop over the vectors of the tile. Values that are the same for all instances are computed once before the
// run, unless a write of the run may change them. Where a run is straight-line code inside of an opened loop, the code
// handles several vectors side by side: one vector alone is a chain of operations that wait for one another.
#include "samite/base/error.h"
#include "samite/codegen/kernel_emitter.h"
#include "samite/codegen/spelling.h"
#include "samite/ir/visit.h"

#include <algorithm>
#include <set>
#include <span>
#include <utility>

namespace samite::codegen {

using namespace ir;

namespace {

constexpr int side_by_side = 4;
constexpr std::size_t largest_side_by_side = 96;

// The values that a tile keeps should stay in the first-level cache, beside the arrays that a loop reads.
constexpr std::size_t kept_bytes = 24 << 10, most_lanes = 16;
constexpr int most_vectors = 32;

// Up to this many statements, a second, unmasked copy is worth its compile time.
constexpr std::size_t largest_copied_tile = 400;

bool calls_library(Op op) {
  switch (op) {
    case Op::Sqrt:
    case Op::Rsqrt:
    case Op::Min:
    case Op::Max:
    case Op::Floor:
    case Op::Ceil:
    case Op::Round:
    case Op::Trunc:
    case Op::CopySign: return false;
    default: return spelling(op).form == Spelling::Form::Function;
  }
}

}  // namespace

void KernelEmitter::tiled_loop(const For &loop, const TilePlan &plan, const ThreadLoop &text) {
  const std::vector<Type> types = local_types(kernel_);
  tile_ = Tile{&plan,
               loop.index,
               text.type,
               fmt::format("first{}", text.number),
               fmt::format("end{}", text.number),
               fmt::format("vectors{}", text.number),
               fmt::format("whole{}", text.number),
               {},
               {},
               0};
  const bool strided = any_strided(plan.steps, false);
  const std::size_t fitting = kept_bytes / (most_lanes * sizeof(float) * std::max<std::size_t>(plan.slots, 1));
  int most = strided ? side_by_side : std::clamp(static_cast<int>(fitting), side_by_side, most_vectors);
  most = most / side_by_side * side_by_side;

  for (LocalId local = 0; local < plan.slot.size(); ++local)
    if (plan.slot[local] == local) out_.line("{} s{}[{}];", type(types[local], uniformity_.of(local)), local, most);
  out_.line("const {} {} = {};", text.type, tile_->end, text.end);
  const std::string function = fmt::format("tile{}", text.number), at = fmt::format("at{}", text.number);
  out_.open("const auto {} = [&](const {} {}, const i32 {}, const bool {}) __attribute__((always_inline)) {{", function,
            text.type, tile_->first, tile_->vectors, tile_->whole);
  tile_steps(plan.steps);
  out_.close("};");
  const int group = tile_->group;
  out_.line("{} {} = {};", text.type, at, text.begin);
  if (text.statements <= largest_copied_tile) {
    out_.open("while ({} - {} >= {} * lane_count) {{", tile_->end, at, group);
    out_.line("const {0} full = ({1} - {2}) / ({3} * lane_count);", text.type, tile_->end, at, group);
    out_.line("const i32 vectors = full < {0} ? i32(full) * {1} : {2};", most / group, group, most);
    out_.line("{}({}, vectors, true);", function, at);
    out_.line("{} += vectors * lane_count;", at);
    out_.close();
    out_.line("if ({} < {}) {}({}, {}, false);", at, tile_->end, function, at, group);
  } else {
    out_.open("for (; {0} < {1}; {0} = {1} - {0} > {2} * lane_count ? {0} + {2} * lane_count : {1}) {{", at, tile_->end,
              most);
    out_.line("const {} groups = ({} - {} - 1) / ({} * lane_count) + 1;", text.type, tile_->end, at, group);
    out_.line("{}({}, groups < {} ? i32(groups) * {} : {}, false);", function, at, most / group, group, most);
    out_.close();
  }
  tile_.reset();
}

// Whether an opened loop accesses another cache line for each lane: then many vectors would not fit the cache.
bool KernelEmitter::any_strided(const std::vector<TileStep> &steps, bool in_loop) const {
  auto strided = [&](std::uint32_t array, std::span<const Value> indices) {
    for (std::size_t d = 0; d < indices.size(); ++d) {
      if (shape(indices[d]) == Shape::Uniform) continue;
      if (d + 1 < indices.size() || varying(indices[d]) || !facts(array).unit_stride) return true;
    }
    return false;
  };
  bool found = false;
  for (const TileStep &step : steps) {
    if (in_loop)
      for_each_statement(step.statements, [&](const Stmt &stmt) {
        if (const Let *let = stmt.as<Let>(); let && array_read(stmt))
          found = found || strided(let->value.array, element_indices(let->value));
        if (const Store *store = stmt.as<Store>()) found = found || strided(store->array, store->indices);
        if (const Accumulate *add = stmt.as<Accumulate>()) found = found || strided(add->array, add->indices);
      });
    const bool inside = in_loop || (step.opened && step.opened->as<For>());
    found = found || any_strided(step.body, inside) || any_strided(step.otherwise, inside);
  }
  return found;
}

void KernelEmitter::tile_steps(const std::vector<TileStep> &steps) {
  for (const TileStep &step : steps) {
    if (!step.opened) {
      tile_run(step);
      continue;
    }
    out_.location(step.opened->where());
    if (const For *loop = step.opened->as<For>())
      opened_loop(*loop, step);
    else
      opened_branch(*step.opened->as<If>(), step);
  }
}

void KernelEmitter::opened_loop(const For &loop, const TileStep &step) {
  // Values that lanes carry are in the arrays of the tile.
  std::vector<Carried> uniform;
  std::copy_if(loop.carried.begin(), loop.carried.end(), std::back_inserter(uniform),
               [&](const Carried &carried) { return uniformity_.of(carried.inner) == Shape::Uniform; });
  declare_carried(uniform, false);
  const std::string index = name(loop.index);
  out_.open("for ({} {} = {}; {}; {} += {}) {{", scalar_name(loop.type), index, scalar(loop.begin),
            continues(loop, Shape::Uniform), index, scalar(loop.step));
  ++tile_->loops;
  tile_steps(step.body);
  --tile_->loops;
  advance_carried(uniform, false);
  out_.close();
  name_results(uniform, false);
}

void KernelEmitter::opened_branch(const If &branch, const TileStep &step) {
  if (uniformity_.divergent(branch)) {
    auto side = [&](const std::vector<TileStep> &steps, bool holds) {
      if (steps.empty()) return;
      tile_->guards.push_back({branch.condition.id(), holds});
      const std::string some = fresh("some"), k = fresh("k");
      out_.line("bool {} = false;", some);
      out_.open("for (i32 {0} = 0; {0} < {1}; ++{0}) {{", k, tile_->vectors);
      out_.line("{} |= any({});", some, tile_mask(k));
      out_.close();
      out_.open("if ({}) {{", some);
      tile_steps(steps);
      out_.close();
      tile_->guards.pop_back();
    };
    side(step.body, true);
    side(step.otherwise, false);
    return;
  }
  auto uniform = [&](const BranchResult &result) {
    return used(result.local) && uniformity_.of(result.local) == Shape::Uniform;
  };
  for (const BranchResult &result : branch.results)
    if (uniform(result)) out_.line("{} {};", scalar_name(result.type), name(result.local));
  auto side = [&](const std::vector<TileStep> &steps, Value BranchResult::*value) {
    tile_steps(steps);
    for (const BranchResult &result : branch.results)
      if (uniform(result)) out_.line("{} = {};", name(result.local), scalar(result.*value));
    out_.close();
  };
  out_.open("if ({}) {{", scalar(branch.condition));
  side(step.body, &BranchResult::then_value);
  out_.open("else {{");
  side(step.otherwise, &BranchResult::else_value);
}

// The active lanes of vector k in a run at this place.
std::string KernelEmitter::tile_mask(const std::string &k) const {
  std::string mask = fmt::format("({} ? all_lanes() : first_lanes({} - ({} + ({}) * lane_count)))", tile_->whole,
                                 tile_->end, tile_->first, k);
  for (const Tile::Guard &guard : tile_->guards)
    mask += fmt::format(" & {}s{}[{}]", guard.holds ? "" : "!", *tile_->plan->slot[guard.condition], k);
  return mask;
}

// Whether the statements have no effect where no lane is active.
bool KernelEmitter::harmless_without_lanes(const Block &block) const {
  auto shared = [&](std::span<const Value> indices) {
    return std::all_of(indices.begin(), indices.end(),
                       [&](const Value &index) { return shape(index) == Shape::Uniform; });
  };
  return std::all_of(block.begin(), block.end(), [&](const Stmt &stmt) {
    if (const Let *let = stmt.as<Let>()) return !array_written(stmt) || !shared(element_indices(let->value));
    if (const Store *store = stmt.as<Store>()) return !shared(store->indices);
    if (const Accumulate *add = stmt.as<Accumulate>()) return sum_for(*add) || !shared(add->indices);
    return false;
  });
}

int KernelEmitter::vectors_side_by_side(const Block &block) const {
  if (tile_->loops == 0 || block.size() > largest_side_by_side || !harmless_without_lanes(block)) return 1;
  const bool calls = std::any_of(block.begin(), block.end(), [](const Stmt &stmt) {
    const Let *let = stmt.as<Let>();
    return let && calls_library(let->value.op);
  });
  return calls ? 1 : side_by_side;
}

// Writes the statements whose values the whole tile shares, and returns the others.
Block KernelEmitter::without_shared(const Block &block) {
  Block rest;
  std::set<LocalId> left;
  bool written = false;
  for (const Stmt &stmt : block) {
    const Let *let = stmt.as<Let>();
    const bool shared = let && uniformity_.of(let->local) == Shape::Uniform &&
                        !(written && info(let->value.op).typing == Typing::Load) &&
                        std::all_of(let->value.operands.begin(), let->value.operands.end(), [&](const Value &value) {
                          return shared_by_lanes(value) && !(value.is_local() && left.contains(value.id()));
                        });
    if (shared) {
      out_.location(stmt.where());
      this->let(*let, stmt.where());
      continue;
    }
    rest.push_back(stmt);
    for_each_statement({stmt}, [&](const Stmt &inner) {
      written = written || array_written(inner);
      for_each_definition(inner, [&](LocalId local, ScalarType) { left.insert(local); });
    });
  }
  return rest;
}

void KernelEmitter::tile_run(const TileStep &step) {
  const Block rest = without_shared(step.statements);
  if (rest.empty() && step.leaves.empty()) return;
  std::set<LocalId> defined, reads;
  auto read = [&](const Value &value) {
    if (value.is_local() && !defined.contains(value.id()) && !shared_by_lanes(value) && tile_->plan->slot[value.id()])
      reads.insert(value.id());
  };
  std::vector<std::pair<LocalId, ScalarType>> kept, shared;
  for_each_statement(rest, [&](const Stmt &stmt) {
    for_each_definition(stmt, [&](LocalId local, ScalarType type) {
      defined.insert(local);
      if (tile_->plan->shared[local]) shared.emplace_back(local, type);
      if (tile_->plan->slot[local] == local) kept.emplace_back(local, type);
    });
  });
  for_each_statement(rest, [&](const Stmt &stmt) { for_each_operand(stmt, read); });
  for (const TileAssignment &assignment : step.leaves) read(assignment.value);

  const std::size_t outer_sums = sums_.size();
  std::vector<Sum> sums = sums_of(rest, defined);
  for (Sum &sum : sums) sum.name = fresh("tile_sum");
  declare_sums(std::move(sums));
  for (auto [local, type] : shared) out_.line("{} u{};", scalar_name(type), local);
  const int copies = vectors_side_by_side(rest);
  tile_->group = std::max(tile_->group, copies);
  const std::string k = fresh("k");
  out_.open("for (i32 {0} = 0; {0} < {1}; {0} += {2}) {{", k, tile_->vectors, copies);
  tile_->copied = defined;
  tile_->copied.insert(reads.begin(), reads.end());
  tile_->copied.insert(tile_->index);
  std::vector<std::string> masks, at;
  auto each_copy = [&](auto &&write) {
    for (int copy = 0; copy < copies; ++copy) {
      const auto c = static_cast<std::size_t>(copy);
      tile_->copy = copies > 1 ? copy : -1;
      if (c == at.size()) {
        at.push_back(copy == 0 ? k : fmt::format("{} + {}", k, copy));
        masks.push_back(fresh("m"));
      }
      mask_ = masks[c];
      write(at[c]);
    }
  };
  each_copy([&](const std::string &vector) {
    out_.line("const {} {} = {} + ({}) * lane_count;", tile_->type, name(tile_->index), tile_->first, vector);
    out_.line("const Mask {} = {};", mask_, tile_mask(vector));
    for (LocalId local : reads) out_.line("const auto {} = s{}[{}];", name(local), *tile_->plan->slot[local], vector);
  });
  if (!harmless_without_lanes(rest)) out_.line("if (!any({})) continue;", mask_);
  open_workspace_scope(rest);
  for (const Stmt &stmt : rest) each_copy([&](const std::string &) { statement(stmt); });
  each_copy([&](const std::string &vector) {
    for (auto [local, type] : kept) out_.line("s{}[{}] = {};", local, vector, name(local));
    for (auto [local, type] : shared) out_.line("u{} = {};", local, name(local));
    for (const TileAssignment &assignment : step.leaves) {
      const std::string slot = fmt::format("s{}[{}]", assignment.target, vector);
      const std::string value = as(assignment.value, uniformity_.of(assignment.target));
      if (assignment.masked)
        out_.line("{0} = {1} ? {2} : {0};", slot, mask_, value);
      else
        out_.line("{} = {};", slot, value);
    }
  });
  mask_.clear();
  tile_->copy = -1;
  tile_->copied.clear();
  out_.close();
  for (auto [local, type] : shared) out_.line("const {} {} = u{};", scalar_name(type), name(local), local);
  add_sums(outer_sums);
}

}  // namespace samite::codegen
