// Branches and loops: native where all lanes go the same way, with masks where they may not.
#include "samite/base/error.h"
#include "samite/codegen/kernel_emitter.h"
#include "samite/codegen/spelling.h"
#include "samite/ir/visit.h"
#include "samite/passes/op_cost.h"

#include <algorithm>

namespace samite::codegen {

using namespace ir;

namespace {

constexpr std::size_t largest_flattened_block = 6;

}  // namespace

// Whether a side of a branch should run without asking first if any lane goes there. It must then be harmless with no
// lane active: no access that the mask does not guard, which is one that all lanes share, unless it is a constant
// element of a local array of constant size.
bool KernelEmitter::worth_flattening(const Block &block) const {
  if (block.size() > largest_flattened_block) return false;
  auto guarded = [&](const std::vector<Value> &indices) {
    for (const Value &index : indices)
      if (shape(index) != Shape::Uniform) return true;
    return false;
  };
  for (const Stmt &stmt : block) {
    if (const Let *let = stmt.as<Let>()) {
      if (!passes::cheap(let->value.op)) return false;
      if (let->value.op == Op::Load && (options_.debug || !guarded(let->value.operands))) return false;
      if (let->value.op == Op::LocalLoad &&
          !local_arrays_.harmless_without_lanes(let->value.array, let->value.operands[0]))
        return false;
    } else if (const LocalStore *store = stmt.as<LocalStore>()) {
      if (!local_arrays_.harmless_without_lanes(store->array, store->index)) return false;
    } else if (const Store *store = stmt.as<Store>()) {
      if (options_.debug || !guarded(store->indices)) return false;
    } else {
      return false;
    }
  }
  return true;
}

void KernelEmitter::branch(const If &branch) {
  if (in_lanes() && uniformity_.divergent(branch)) return divergent_branch(branch);
  for (const BranchResult &result : branch.results)
    if (used(result.local)) out_.line("{} {};", type(result.type, uniformity_.of(result.local)), name(result.local));
  auto side = [&](const Block &statements, Value BranchResult::*value) {
    block(statements);
    for (const BranchResult &result : branch.results)
      if (used(result.local))
        out_.line("{} = {};", name(result.local), as(result.*value, uniformity_.of(result.local)));
  };
  out_.open("if ({}{}) {{", element_loops_.asks_for_bounds(branch.condition) ? "everywhere || " : "",
            scalar(branch.condition));
  side(branch.then_block, &BranchResult::then_value);
  out_.close();
  bool results = false;
  for (const BranchResult &result : branch.results) results = results || used(result.local);
  if (branch.else_block.empty() && !results) return;
  out_.open("else {{");
  side(branch.else_block, &BranchResult::else_value);
  out_.close();
}

// Each side runs under its own mask. A result starts as what the side without statements gives, or as nothing.
void KernelEmitter::divergent_branch(const If &branch) {
  const std::string condition = scalar(branch.condition), outer = mask_;
  const bool only_then = branch.else_block.empty(), only_else = branch.then_block.empty() && !only_then;
  if (only_then && branch.then_block.empty()) {
    for (const BranchResult &result : branch.results)
      if (used(result.local))
        out_.line("const {} {} = {} ? {} : {};", vector_name(result.type), name(result.local), condition,
                  vector(result.then_value), vector(result.else_value));
    return;
  }
  for (const BranchResult &result : branch.results)
    if (used(result.local))
      out_.line("{0} {1} = {2};", vector_name(result.type), name(result.local),
                only_then   ? vector(result.else_value)
                : only_else ? vector(result.then_value)
                            : fmt::format("{}(0)", vector_name(result.type)));

  auto side = [&](const Block &statements, std::string_view lanes, Value BranchResult::*value, bool first) {
    mask_ = fresh("m");
    out_.line("const Mask {} = {} & {};", mask_, outer, lanes);
    if (worth_flattening(statements))
      out_.open("{{");
    else
      out_.open("if (any({})) {{", mask_);
    block(statements);
    for (const BranchResult &result : branch.results) {
      if (!used(result.local)) continue;
      if (first)
        out_.line("{} = {};", name(result.local), vector(result.*value));
      else
        out_.line("{0} = {1} ? {2} : {0};", name(result.local), mask_, vector(result.*value));
    }
    out_.close();
    mask_ = outer;
  };
  if (!branch.then_block.empty()) side(branch.then_block, condition, &BranchResult::then_value, !only_then);
  if (!branch.else_block.empty()) side(branch.else_block, "!" + condition, &BranchResult::else_value, false);
}

void KernelEmitter::loop(const For &loop) {
  if (loop.kind != LoopKind::Serial && !explicit_lanes())
    return !is_tile_kernel(kernel_)       ? launch_loop(loop)
           : loop.kind == LoopKind::Block ? launch_blocks(loop)
                                          : element_loops_.loop(loop);
  if (loop.kind == LoopKind::Thread) return thread_loop(loop);
  if (in_lanes() && uniformity_.starts_late(loop)) return late_loop(loop);
  if (in_lanes() && uniformity_.divergent(loop)) return divergent_loop(loop);
  if (in_lanes()) {
    if (const auto rows = rows_.of(loop); !rows.empty()) return loop_in_pieces(loop, rows);
  } else if (!explicit_lanes() && !is_tile_kernel(kernel_) && warp_loops_.loop(loop)) {
    return;
  }
  // A strip's additions to one element are summed over the loops around its thread loops.
  const bool around_lanes = explicit_lanes() && loop.kind == LoopKind::Serial && !is_tile_kernel(kernel_);
  if (in_lanes() || !around_lanes) return native_loop(loop);
  const std::size_t outer_sums = sums_.open_count();
  sums_.declare_in_lanes(loop);
  ++loops_around_lanes_;
  native_loop(loop);
  --loops_around_lanes_;
  sums_.add_lanes(outer_sums);
}

void KernelEmitter::native_loop(const For &loop) {
  loop_text_.declare(loop.carried, false);
  loop_text_.open(loop);
  launch_body(loop);
  loop_text_.advance(loop.carried, false);
  out_.close();
  loop_text_.name_results(loop.carried, false);
}

void KernelEmitter::loop(const While &loop) {
  if (in_lanes() && uniformity_.divergent(loop)) return divergent_loop(loop);
  loop_text_.declare(loop.carried, false);
  out_.open("for (;;) {{");
  block(loop.condition_block);
  out_.line("if (!{}) break;", scalar(loop.condition));
  block(loop.body);
  loop_text_.advance(loop.carried, false);
  out_.close();
  loop_text_.name_results(loop.carried, false);
}

void KernelEmitter::divergent_loop(const For &loop) {
  const std::string outer = mask_, index = name(loop.index);
  const Shape shape = uniformity_.of(loop.index);
  loop_text_.declare(loop.carried, true);
  mask_ = fresh("m");
  out_.line("Mask {} = {};", mask_, outer);
  out_.open("for ({} {} = {};; {} += {}) {{", type(loop.type, shape), index, as(loop.begin, shape), index,
            as(loop.step, shape));
  out_.line("{} &= {};", mask_, loop_text_.continues(loop, Shape::Varying));
  out_.line("if (!any({})) break;", mask_);
  block(loop.body);
  loop_text_.advance(loop.carried, true);
  out_.close();
  mask_ = outer;
  loop_text_.name_results(loop.carried, true);
}

// The index runs from the first place at which a lane that is active starts. A lane is on from its own place on, and
// the one that starts first is on throughout.
void KernelEmitter::late_loop(const For &loop) {
  const std::string outer = mask_, index = name(loop.index);
  const bool down = loop.step.as_int() < 0;
  loop_text_.declare(loop.carried, true);
  mask_ = fresh("m");
  const std::string first = fmt::format("{}({}, {}({}), {})", down ? "largest_or" : "smallest_or", outer,
                                        scalar_name(loop.type), scalar(loop.end), vector(loop.begin));
  out_.open("for ({} {} = {}; {}; {} += {}) {{", scalar_name(loop.type), index, first,
            loop_text_.continues(loop, Shape::Uniform), index, scalar(loop.step));
  out_.line("const Mask {} = {} & to_mask({} {} {});", mask_, outer, vector(loop.begin), down ? ">=" : "<=", index);
  block(loop.body);
  loop_text_.advance(loop.carried, true);
  out_.close();
  mask_ = outer;
  loop_text_.name_results(loop.carried, true);
}

void KernelEmitter::divergent_loop(const While &loop) {
  const std::string outer = mask_;
  loop_text_.declare(loop.carried, true);
  mask_ = fresh("m");
  out_.line("Mask {} = {};", mask_, outer);
  out_.open("for (;;) {{");
  block(loop.condition_block);
  out_.line("{} &= {};", mask_, scalar(loop.condition));
  out_.line("if (!any({})) break;", mask_);
  block(loop.body);
  loop_text_.advance(loop.carried, true);
  out_.close();
  mask_ = outer;
  loop_text_.name_results(loop.carried, true);
}

}  // namespace samite::codegen
