#include "samite/ir/verifier.h"

#include "samite/ir/loop_products.h"
#include "samite/ir/visit.h"

#include <algorithm>
#include <utility>

namespace samite::ir {

void Verifier::check_message(const Message &message) const {
  if (message.texts.size() != message.values.size() + 1)
    fail("a message has {} texts and {} values, expected one text more than values", message.texts.size(),
         message.values.size());
  for (const Value &value : message.values) check_value(value);
}

void Verifier::check(const Print &print) { check_message(print.message); }

void Verifier::check(const Check &check) {
  check_value(check.condition, ScalarType::Bool, "the condition");
  check_message(check.message);
  if (!check.instance.empty() && check.instance.size() != static_cast<std::size_t>(kernel_.launch_rank))
    fail("the index of the instance has {} dimensions, and the launch has {}", check.instance.size(),
         kernel_.launch_rank);
  for (const Value &index : check.instance) check_index(index, "an index of the instance");
}

void Verifier::check(const If &branch) {
  check_value(branch.condition, ScalarType::Bool, "the condition");
  JumpBarrier barrier(*this, !branch.results.empty());
  {
    Scope scope(*this);
    check_block(branch.then_block);
    for (const BranchResult &result : branch.results)
      check_value(result.then_value, result.type, fmt::format("the first value of %{}", result.local));
  }
  {
    Scope scope(*this);
    check_block(branch.else_block);
    for (const BranchResult &result : branch.results)
      check_value(result.else_value, result.type, fmt::format("the second value of %{}", result.local));
  }
  for (const BranchResult &result : branch.results) define(result.local, result.type);
}

void Verifier::check(const For &loop) {
  if (!is_integer(loop.type)) fail("the loop's index has type {}, expected an integer type", name(loop.type));
  check_value(loop.begin, loop.type, "the loop's begin");
  check_value(loop.end, loop.type, "the loop's end");
  check_value(loop.step, loop.type, "the loop's step");
  if (loop.step.is_constant() && loop.step.bits() == 0) fail("the loop's step is zero");
  if (loop.kind != LoopKind::Serial) check_lowered("unordered loop");
  if (loop.kind != LoopKind::Serial && !loop.carried.empty()) fail("an unordered loop carries values");
  check_notes(loop);
  check_elements(loop);
  if (loop.stages < 1) fail("a loop of {} stages", loop.stages);
  if (const std::string error = loop_products_error(loop, kernel_); !error.empty()) fail("{}", error);
  if (loop.ahead != 0) check_lowered("loop that prefetches statements");
  if (loop.ahead > loop.body.size() || (loop.ahead != 0 && loop.stages < 2))
    fail("a loop of {} stages and {} statements, {} of them ahead", loop.stages, loop.body.size(), loop.ahead);
  if (loop.jam != 1) {
    check_lowered("jammed loop");
    if (loop.kind != LoopKind::Thread || is_tile_kernel(kernel_) || loop.jam < 1)
      fail("a loop that is jammed {} times, expected a thread loop and 1 or more", loop.jam);
    check_jammed(loop.body);
  }
  check_initial_values(loop.carried);
  {
    Scope scope(*this);
    JumpBarrier barrier(*this, loop.kind != LoopKind::Serial || !loop.carried.empty());
    define(loop.index, loop.type);
    define_inner_values(loop.carried);
    const Threads outer = threads_;
    if (loop.kind == LoopKind::Thread && !outer.in_loop) threads_ = {true, loop.index, in_scope_.size() - 1};
    loops_.push_back(&loop);
    check_block(loop.body);
    loops_.pop_back();
    threads_ = outer;
    check_next_values(loop.carried);
  }
  define_carried_results(loop.carried);
}

void Verifier::check_notes(const For &loop) const {
  const bool in_order = loop.kind == LoopKind::Serial, of_threads = !is_tile_kernel(kernel_);
  const bool in_steps = loop.kind == LoopKind::Thread && of_threads;
  if (!in_order && (!loop.step.is_constant() || loop.step.as_int() < 1 || (loop.step.as_int() != 1 && !in_steps)))
    fail("the step of an unordered loop is {}, expected {}", to_string(loop.step, kernel_.parameters),
         in_steps ? "a positive constant" : "1");
  if (loop.rolled) check_lowered("rolled loop");
  if (loop.threads.instances != 1) check_lowered("loop of several instances");
  if (loop.threads.by_warp != 0) check_lowered("loop of a warp");
  if (loop.threads.by_warp < 0 || loop.threads.by_warp > 32 || (loop.threads.by_warp != 0 && !(in_order && of_threads)))
    fail("a loop of {} iterations of a warp at once, expected up to 32, of threads", loop.threads.by_warp);
  if (loop.threads.march != 1) check_lowered("loop in which a thread marches");
  if (loop.threads.march < 1 || (loop.threads.march != 1 && (loop.kind != LoopKind::Block || !of_threads)))
    fail("a thread runs {} iterations of a loop one after another, expected 1 or more, of a loop over the launch",
         loop.threads.march);
  if (loop.threads.instances < 1 || ((loop.threads.instances != 1 || loop.rolled) && !(in_order && of_threads)))
    fail("a loop{} of {} instances, expected one of a thread", loop.rolled ? " that is rolled" : "",
         loop.threads.instances);
}

void Verifier::check_elements(const For &loop) const {
  const ElementPlan &plan = loop.elements;
  if (plan.is_default()) return;
  check_lowered("planned loop over elements");
  if (loop.kind != LoopKind::Thread || !is_tile_kernel(kernel_))
    fail("a plan of elements of another loop than over them");
  if (plan.corners != 0 && plan.corners != 2 && plan.corners != 4) fail("bounds at {} corners of a tile", plan.corners);
  if (plan.interleaved < 0 || plan.rotates < 0)
    fail("{} interleaved iterations and {} elements of a rotation", plan.interleaved, plan.rotates);
  if (plan.rotates != 0 && plan.corners == 0) fail("registers rotate in a loop without a version with bounds checks");
  if (plan.in_packs && plan.bounds.empty()) fail("bounds of groups of elements without bounds");
  const auto count = [&](const auto &is_it) {
    int found = 0;
    for_each_statement(loop.body, [&](const Stmt &stmt) { found += is_it(stmt); });
    return found;
  };
  const auto is_let = [](LocalId local) {
    return [local](const Stmt &stmt) { return stmt.as<Let>() && stmt.as<Let>()->local == local; };
  };
  for (const LocalId bound : plan.bounds)
    if (count(is_let(bound)) == 0) check_in_scope(bound);
  using Kind = ElementPlan::Group::Kind;
  for (const ElementPlan::Group &group : plan.groups) {
    const int accesses = count([&](const Stmt &stmt) {
      const auto *let = stmt.as<Let>();
      if (group.kind == Kind::load) return let && group.load == let->local && let->value.op == Op::Load;
      const auto *store = stmt.as<Store>();
      const auto *add = stmt.as<Accumulate>();
      return group.kind == Kind::store ? store && store->array == group.array : add && add->array == group.array;
    });
    if (accesses != 1) fail("a group of accesses that the loop has {} times", accesses);
  }
}

void Verifier::check(const While &loop) {
  check_initial_values(loop.carried);
  {
    Scope scope(*this);
    define_inner_values(loop.carried);
    {
      JumpBarrier barrier(*this, true);
      check_block(loop.condition_block);
    }
    check_value(loop.condition, ScalarType::Bool, "the condition");
    JumpBarrier barrier(*this, !loop.carried.empty());
    check_block(loop.body);
    check_next_values(loop.carried);
  }
  define_carried_results(loop.carried);
}

void Verifier::check(const Labelled &labelled) {
  if (form_ != Form::captured) fail("the {} form has no label", name_of_form());
  if (position(labelled.label) < labels_.enclosing.size()) fail("label {} is nested in itself", labelled.label);
  labels_.enclosing.push_back(labelled.label);
  {
    Scope scope(*this);
    check_block(labelled.body);
  }
  labels_.enclosing.pop_back();
}

void Verifier::check(const Leave &leave) const {
  if (form_ != Form::captured) fail("the {} form has no leave", name_of_form());
  std::size_t at = position(leave.label);
  if (at == labels_.enclosing.size()) fail("leave {} outside of its label", leave.label);
  if (at < labels_.first_in_reach) fail("leave {} out of a condition or a statement with results", leave.label);
}

void Verifier::check(const CustomAdjoint &custom) {
  for (const CustomResult &result : custom.results)
    if (!is_floating(result.type)) fail("%{} has type {}, expected a floating type", result.local, name(result.type));
  for (const CustomOperand &each : custom.operands) {
    check_value(each.operand);
    if (!is_floating(each.operand.type()))
      fail("%{} has type {}, expected a floating type", each.inner, name(each.operand.type()));
  }
  {
    Closed closed(*this);
    for (const CustomOperand &each : custom.operands) define(each.inner, each.operand.type(), true);
    check_block(custom.primal);
    for (const CustomResult &result : custom.results)
      check_value(result.value, result.type, fmt::format("the value of %{}", result.local));
  }
  if (!custom.replays && !custom.replay.empty()) fail("a replay block without replays");
  if (custom.replays) {
    Closed closed(*this);
    see_again(custom.operands);
    check_block(custom.replay);
    for (const CustomResult &result : custom.results)
      check_value(result.replayed, result.type, fmt::format("the replayed value of %{}", result.local));
  }
  for (const CustomResult &result : custom.results) define(result.local, result.type);
  Closed closed(*this);
  see_again(custom.operands);
  for (const CustomResult &result : custom.results) define(result.cotangent, result.type);
  const bool outer = std::exchange(in_adjoint_, true);
  check_block(custom.adjoint);
  in_adjoint_ = outer;
  for (const CustomOperand &each : custom.operands)
    check_value(each.gradient, each.operand.type(), fmt::format("the gradient of %{}", each.inner));
}

void Verifier::see_again(const std::vector<CustomOperand> &operands) {
  for (const CustomOperand &each : operands) {
    locals_[each.inner].in_scope = true;
    in_scope_.push_back(each.inner);
  }
}

void Verifier::check(const AdjointCall &call) {
  if (form_ != Form::captured) fail("the {} form has no adjoint_of", name_of_form());
  for (const AdjointInput &input : call.inputs) {
    if (!is_floating(input.type)) fail("%{} has type {}, expected a floating type", input.inner, name(input.type));
    check_value(input.value, input.type, fmt::format("the value of %{}", input.inner));
  }
  for (const AdjointSeed &seed : call.seeds) check_value(seed.cotangent);
  {
    Closed closed(*this);
    for (const AdjointInput &input : call.inputs) define(input.inner, input.type, true);
    check_block(call.primal);
    for (const AdjointSeed &seed : call.seeds)
      check_value(seed.output, seed.cotangent.type(), "an output of the block");
  }
  for (const AdjointInput &input : call.inputs) define(input.gradient, input.type);
}

std::size_t Verifier::position(LabelId label) const {
  return static_cast<std::size_t>(std::find(labels_.enclosing.begin(), labels_.enclosing.end(), label) -
                                  labels_.enclosing.begin());
}

void Verifier::check_initial_values(const std::vector<Carried> &carried) const {
  for (const Carried &each : carried)
    check_value(each.initial, each.type, fmt::format("the initial value of %{}", each.inner));
}

void Verifier::define_inner_values(const std::vector<Carried> &carried) {
  for (const Carried &each : carried) define(each.inner, each.type);
}

void Verifier::check_next_values(const std::vector<Carried> &carried) const {
  for (const Carried &each : carried)
    check_value(each.next, each.type, fmt::format("the next value of %{}", each.inner));
}

void Verifier::define_carried_results(const std::vector<Carried> &carried) {
  for (const Carried &each : carried) define(each.result, each.type);
}

}  // namespace samite::ir
