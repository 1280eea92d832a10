#include "samite/lang/control.h"

#include "samite/base/error.h"
#include "samite/lang/trace.h"

namespace samite {
namespace lang {

// Bounds that are assigned in the body still mean their value at the start, as the operands of a range do in C++.
LoopCapture::LoopCapture(ScalarType type, ir::Value begin, ir::Value end, std::int64_t step, int stages,
                         SourceLocation where)
    : begin_(record(ir::Op::Copy, type, {begin}, where)),
      end_(record(ir::Op::Copy, type, {end}, where)),
      step_(ir::Value::constant(type, step)),
      type_(type),
      stages_(stages),
      where_(where) {
  if (step == 0) throw UserError(where, "range with a step of 0 never ends; give a positive or negative step");
}

UnrolledRange::UnrolledRange(std::int64_t begin, std::int64_t end, std::int64_t step, SourceLocation where)
    : begin_(begin), end_(end), step_(step), where_(where) {
  if (step == 0) throw UserError(where, "range with a step of 0 never ends; give a positive or negative step");
  constexpr std::int64_t most = 4096;
  const std::int64_t trips = (end - begin) / step;
  const auto fits = [](std::int64_t bound) { return std::in_range<std::int32_t>(bound); };
  if (!fits(begin) || !fits(end) || trips > most)
    throw UserError(where, "an unrolled range of " + std::to_string(trips) +
                               " iterations, each of which is captured; there are at most " + std::to_string(most) +
                               ". Leave unrolled() out");
}

ir::Value LoopCapture::open() {
  Trace &trace = Trace::current(where_);
  depth_ = trace.open_block(where_);
  trace.jumps().open(JumpTargets::Kind::Loop);
  index_ = trace.new_local();
  return ir::Value::local(type_, index_);
}

void LoopCapture::close() {
  Trace &trace = Trace::current(where_);
  ir::Block body = trace.close_block(depth_);
  const JumpTargets::Target loop = trace.jumps().close();
  body = loop.iteration.around(std::move(body), where_);
  ir::For whole{index_, type_, begin_, end_, step_, std::move(body), {}, ir::LoopKind::Serial, stages_};
  trace.append(loop.whole.around({ir::Stmt(std::move(whole), where_)}, where_));
}

void branch(ir::Value condition, FunctionRef<void()> then, const FunctionRef<void()> *otherwise, SourceLocation where) {
  Trace &trace = Trace::current(where);
  condition = record(ir::Op::Copy, ScalarType::Bool, {condition}, where);
  std::size_t depth = trace.open_block(where);
  then();
  ir::If branch{condition, trace.close_block(depth), {}, {}};
  if (otherwise) {
    trace.open_block(where);
    (*otherwise)();
    branch.else_block = trace.close_block(depth);
  }
  trace.append({std::move(branch), where});
}

void loop_while(FunctionRef<ir::Value()> condition, FunctionRef<void()> body, SourceLocation where) {
  Trace &trace = Trace::current(where);
  // The condition block stays open for the body, which may use what it defines.
  std::size_t depth = trace.open_block(where);
  trace.jumps().open(JumpTargets::Kind::Condition);
  ir::Value test = record(ir::Op::Copy, ScalarType::Bool, {condition()}, where);
  trace.jumps().close();
  std::size_t body_depth = trace.open_block(where);
  trace.jumps().open(JumpTargets::Kind::Loop);
  body();
  ir::Block body_block = trace.close_block(body_depth);
  const JumpTargets::Target loop = trace.jumps().close();
  body_block = loop.iteration.around(std::move(body_block), where);
  ir::Block condition_block = trace.close_block(depth);
  ir::While whole{std::move(condition_block), test, std::move(body_block), {}};
  trace.append(loop.whole.around({ir::Stmt(std::move(whole), where)}, where));
}

FunctionCapture::FunctionCapture(SourceLocation where)
    : where_(where),
      depth_(Trace::current(where).open_block(where)),
      label_(Trace::current(where).jumps().open(JumpTargets::Kind::Function)) {}

void FunctionCapture::close() {
  Trace &trace = Trace::current(where_);
  ir::Block body = trace.close_block(depth_);
  trace.append(trace.jumps().close().whole.around(std::move(body), where_));
}

void leave_function(ir::LabelId label, SourceLocation where) {
  Trace &trace = Trace::current(where);
  trace.append({ir::Leave{trace.jumps().return_label(label, where)}, where});
}

void require_function(ir::LabelId label, SourceLocation where) {
  Trace::current(where).jumps().return_label(label, where);
}

Int record_thread_index(int dimension, int rank, SourceLocation where) {
  Trace &trace = Trace::current(where);
  if (trace.pipeline())
    throw UserError(where,
                    "thread_index in a pipeline, where a Func is defined for all elements at once: declare variables, "
                    "Var y{\"y\"}, x{\"x\"}, and define f(y, x) = …; a schedule says which thread computes what");
  if (trace.tiles())
    throw UserError(where,
                    "thread_index in a TileKernel, whose function is about a block: use block_index, and "
                    "tile::coordinate for what differs within it");
  trace.require_launch_rank(rank, where);
  return Int::adopt(trace.let({ir::Op::ThreadIndex, ScalarType::Int32, {}, 0, dimension}, where));
}

}  // namespace lang

Pipelined pipelined(int stages, SourceLocation where) {
  constexpr int most = 16;
  if (stages < 1 || stages > most)
    throw UserError(where, "pipelined(" + std::to_string(stages) + "): a loop has 1 to " + std::to_string(most) +
                               " stages; with 1 nothing is loaded ahead");
  return {stages};
}

void break_(SourceLocation where) {
  lang::Trace &trace = lang::Trace::current(where);
  trace.append({ir::Leave{trace.jumps().break_label(where)}, where});
}

void continue_(SourceLocation where) {
  lang::Trace &trace = lang::Trace::current(where);
  trace.append({ir::Leave{trace.jumps().continue_label(where)}, where});
}

void return_(SourceLocation where) {
  lang::Trace &trace = lang::Trace::current(where);
  if (trace.pipeline())
    throw UserError(where,
                    "return_ in a pipeline would end all of it: choose values with select(condition, a, b), or leave a "
                    "function of returning(…) by the return_ that it is given");
  trace.append({ir::Leave{trace.jumps().return_label(where)}, where});
}

Int thread_index(SourceLocation where) { return lang::record_thread_index(0, 1, where); }

}  // namespace samite
