// Branches and loops: native where all lanes go the same way, with masks where they may not.
#include "samite/base/error.h"
#include "samite/codegen/kernel_emitter.h"
#include "samite/codegen/spelling.h"
#include "samite/ir/visit.h"

#include <algorithm>

namespace samite::codegen {

using namespace ir;

namespace {

constexpr std::size_t largest_flattened_block = 6;

bool cheap(Op op) {
  switch (spelling(op).form) {
    case Spelling::Form::Function: return op == Op::Min || op == Op::Max || op == Op::CopySign;
    case Spelling::Form::Atomic: return false;
    case Spelling::Form::Special: return op != Op::Div && op != Op::Rem && op != Op::Exchange;
    default: return true;
  }
}

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
      if (!cheap(let->value.op)) return false;
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

// Carried values are variables of the enclosing block, named after `inner`. In a divergent loop a lane that has left
// must keep its value: vectors are written under the mask, and where the inner value is a scalar because all running
// lanes agree on it, the result is a vector beside it.
void KernelEmitter::declare_carried(const std::vector<Carried> &carried, bool divergent) {
  for (const Carried &value : carried) {
    const Shape inner = uniformity_.of(value.inner);
    out_.line("{} {} = {};", type(value.type, inner), name(value.inner), as(value.initial, inner));
    if (divergent && inner != Shape::Varying && used(value.result))
      out_.line("{} {} = {};", vector_name(value.type), name(value.result), vector(value.initial));
  }
}

void KernelEmitter::advance_carried(const std::vector<Carried> &carried, bool divergent) {
  // All next values are read before any is written, since one may be another's inner value.
  auto is_inner = [&](const Value &value) {
    for (const Carried &other : carried)
      if (value.is_local() && value.id() == other.inner) return true;
    return false;
  };
  std::vector<std::string> next;
  for (const Carried &value : carried) {
    const Shape inner = uniformity_.of(value.inner);
    std::string text = as(value.next, inner);
    if (is_inner(value.next) && value.next.id() != value.inner) {
      const std::string kept = fresh("t");
      out_.line("const {} {} = {};", type(value.type, inner), kept, text);
      text = kept;
    }
    next.push_back(std::move(text));
    if (divergent && inner != Shape::Varying && used(value.result))
      out_.line("{0} = {1} ? {2} : {0};", name(value.result), mask_, vector(value.next));
  }
  for (std::size_t i = 0; i < carried.size(); ++i) {
    if (carried[i].next.is_local() && carried[i].next.id() == carried[i].inner) continue;
    if (divergent && uniformity_.of(carried[i].inner) == Shape::Varying)
      out_.line("{0} = {1} ? {2} : {0};", name(carried[i].inner), mask_, next[i]);
    else
      out_.line("{} = {};", name(carried[i].inner), next[i]);
  }
}

void KernelEmitter::name_results(const std::vector<Carried> &carried, bool divergent) {
  for (const Carried &value : carried) {
    const Shape inner = uniformity_.of(value.inner);
    if (used(value.result) && (!divergent || inner == Shape::Varying))
      out_.line("const {} {} = {};", type(value.type, inner), name(value.result), name(value.inner));
  }
}

// Whether the loop goes on with its index: an expression of a bool, or of a Mask where `shape` is Varying.
std::string KernelEmitter::continues(const For &loop, Shape shape) const {
  const Value index = Value::local(loop.type, loop.index);
  const bool vectors = shape == Shape::Varying;
  auto compare = [&](std::string_view op) {
    if (!vectors) return fmt::format("{} {} {}", scalar(index), op, scalar(loop.end));
    const bool spread = uniformity_.of(index) == Shape::Uniform && uniformity_.of(loop.end) == Shape::Uniform;
    return fmt::format("to_mask({} {} {})", spread ? vector(index) : mixed(index), op, mixed(loop.end));
  };
  if (loop.step.is_constant()) return compare(loop.step.as_int() > 0 ? "<" : ">");
  if (class_of(loop.type) == ScalarClass::Unsigned) return compare("<");
  const std::string zero = literal(Value::zero(loop.type));
  if (!varying(loop.step))
    return fmt::format("({} > {} ? {} : {})", scalar(loop.step), zero, compare("<"), compare(">"));
  return fmt::format("(to_mask({0} > {1}) ? {2} : {3})", vector(loop.step), zero, compare("<"), compare(">"));
}

std::size_t KernelEmitter::instructions(const Block &block) {
  std::size_t count = 0;
  for_each_statement(block, [&](const Stmt &stmt) {
    if (stmt.as<Barrier>() || stmt.as<CommitCopies>() || stmt.as<WaitForCopies>()) return;
    const Let *let = stmt.as<Let>();
    const bool floating = let && is_floating(let->value.type);
    const Op op = floating ? let->value.op : Op::Copy;
    if (op == Op::Pow)
      count += 64;
    else if (op == Op::Div || op == Op::Sqrt)
      count += 8;
    else if (op == Op::Rsqrt)
      count += 4;
    else
      count += spelling(op).form == Spelling::Form::Function && !cheap(op) ? 24 : 1;
  });
  return count;
}

std::size_t KernelEmitter::instructions_of_one(const For &loop) {
  return instructions(loop.body) / static_cast<std::size_t>(loop.instances);
}

void KernelEmitter::keep_small(const For &loop) {
  bool calls = false;
  for_each_statement(loop.body, [&](const Stmt &stmt) { calls = calls || stmt.as<TileCall>(); });
  if (!explicit_lanes() && (loop.rolled || calls || instructions_of_one(loop) > largest_unrolled))
    out_.line("#pragma unroll 1");
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
    if (auto rows = rows_of(loop); !rows.empty()) return loop_in_pieces(loop, std::move(rows));
  } else if (!is_tile_kernel(kernel_) && loop_of_warp(loop)) {
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
  declare_carried(loop.carried, false);
  const std::string index = name(loop.index);
  keep_small(loop);
  if (loop.rolled && loop.step.is_constant(1.0)) {
    open_counted(loop);
  } else {
    out_.open("for ({} {} = {}; {}; {} += {}) {{", scalar_name(loop.type), index, scalar(loop.begin),
              continues(loop, Shape::Uniform), index, scalar(loop.step));
  }
  launch_body(loop);
  advance_carried(loop.carried, false);
  out_.close();
  name_results(loop.carried, false);
}

// The iterations are counted without a sign. With one the compiler would know that no address wraps round, and would
// keep the next address of each array in registers, which is not worth them where a loop rarely runs.
void KernelEmitter::open_counted(const For &loop) {
  const std::string type(scalar_name(loop.type)), count = fresh("k"), whole = type == "i64" ? "u64" : "u32";
  out_.open("for ({0} {1} = 0; {2} + {3}({1}) < {4}; ++{1}) {{", whole, count, scalar(loop.begin), type,
            scalar(loop.end));
  out_.line("const {0} {1} = {2} + {0}({3});", type, name(loop.index), scalar(loop.begin), count);
}

void KernelEmitter::loop(const While &loop) {
  if (in_lanes() && uniformity_.divergent(loop)) return divergent_loop(loop);
  declare_carried(loop.carried, false);
  out_.open("for (;;) {{");
  block(loop.condition_block);
  out_.line("if (!{}) break;", scalar(loop.condition));
  block(loop.body);
  advance_carried(loop.carried, false);
  out_.close();
  name_results(loop.carried, false);
}

void KernelEmitter::divergent_loop(const For &loop) {
  const std::string outer = mask_, index = name(loop.index);
  const Shape shape = uniformity_.of(loop.index);
  declare_carried(loop.carried, true);
  mask_ = fresh("m");
  out_.line("Mask {} = {};", mask_, outer);
  out_.open("for ({} {} = {};; {} += {}) {{", type(loop.type, shape), index, as(loop.begin, shape), index,
            as(loop.step, shape));
  out_.line("{} &= {};", mask_, continues(loop, Shape::Varying));
  out_.line("if (!any({})) break;", mask_);
  block(loop.body);
  advance_carried(loop.carried, true);
  out_.close();
  mask_ = outer;
  name_results(loop.carried, true);
}

// The index runs from the first place at which a lane that is active starts. A lane is on from its own place on, and
// the one that starts first is on throughout.
void KernelEmitter::late_loop(const For &loop) {
  const std::string outer = mask_, index = name(loop.index);
  const bool down = loop.step.as_int() < 0;
  declare_carried(loop.carried, true);
  mask_ = fresh("m");
  const std::string first = fmt::format("{}({}, {}({}), {})", down ? "largest_or" : "smallest_or", outer,
                                        scalar_name(loop.type), scalar(loop.end), vector(loop.begin));
  out_.open("for ({} {} = {}; {}; {} += {}) {{", scalar_name(loop.type), index, first, continues(loop, Shape::Uniform),
            index, scalar(loop.step));
  out_.line("const Mask {} = {} & to_mask({} {} {});", mask_, outer, vector(loop.begin), down ? ">=" : "<=", index);
  block(loop.body);
  advance_carried(loop.carried, true);
  out_.close();
  mask_ = outer;
  name_results(loop.carried, true);
}

void KernelEmitter::divergent_loop(const While &loop) {
  const std::string outer = mask_;
  declare_carried(loop.carried, true);
  mask_ = fresh("m");
  out_.line("Mask {} = {};", mask_, outer);
  out_.open("for (;;) {{");
  block(loop.condition_block);
  out_.line("{} &= {};", mask_, scalar(loop.condition));
  out_.line("if (!any({})) break;", mask_);
  block(loop.body);
  advance_carried(loop.carried, true);
  out_.close();
  mask_ = outer;
  name_results(loop.carried, true);
}

}  // namespace samite::codegen
