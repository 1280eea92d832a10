#include "samite/lang/trace.h"

#include "samite/base/error.h"
#include "samite/base/thread_mode.h"
#include "samite/ir/nesting.h"
#include "samite/lang/renamed.h"

#include <algorithm>
#include <atomic>
#include <iterator>
#include <ranges>

namespace samite::lang {
namespace {

thread_local Trace *current_trace = nullptr;

std::uint32_t next_serial() {
  static std::atomic<std::uint32_t> serial{0};
  return ++serial;  // 0 is «no trace»
}

}  // namespace

Trace &Trace::current(SourceLocation where) {
  if (!current_trace)
    throw UserError(where,
                    "a traced value is used outside of a kernel: traced values (Float, Int, …) stand for what a kernel "
                    "computes and exist only while a Kernel captures its function; use float, int, … on the host");
  return *current_trace;
}

Trace::Trace(int launch_rank, std::vector<ir::Parameter> parameters, SourceLocation where, int block_threads)
    : serial_(next_serial()),
      parameters_(std::move(parameters)),
      lines_{where, where, {}, {}},
      launch_rank_(launch_rank),
      block_threads_(block_threads) {
  if (current_trace)
    throw UserError(where,
                    "a kernel is being defined inside of another kernel's function; call a plain C++ function "
                    "instead, capture inlines it");
  open_block(where);
  // Last, since no destructor follows a constructor that throws.
  current_trace = this;
  begin(ThreadMode::captures_kernel);
}

Trace *Trace::running() { return current_trace; }

Trace::~Trace() {
  current_trace = nullptr;
  end(ThreadMode::captures_kernel);
}

ir::LocalId Trace::new_local() {
  locals_.block.push_back(open_.back().id);
  return locals_.end() - 1;
}

ir::LocalId Trace::new_variable() {
  locals_.block.push_back(open_.front().id);
  locals_.is_variable.resize(locals_.end());
  locals_.is_variable.back() = true;
  return locals_.end() - 1;
}

std::uint32_t Trace::add_parameter(ir::Parameter parameter) {
  parameters_.push_back(std::move(parameter));
  return static_cast<std::uint32_t>(parameters_.size() - 1);
}

ir::Value Trace::let(ir::Operation operation, SourceLocation where) {
  ir::Type type = operation.type;
  ir::LocalId local = new_local();
  append({ir::Let{local, std::move(operation)}, place(where)});
  return ir::Value::local(type, local);
}

void Trace::assign(ir::LocalId local, ir::Value value, SourceLocation where) {
  check_scope(local, where);
  append({ir::Assign{local, value}, place(where)});
}

const ir::Operation *Trace::operation(const ir::Value &value) const {
  if (!value.is_local()) return nullptr;
  const ir::Block &statements = open_.back().statements;
  for (const ir::Stmt &stmt : std::views::reverse(statements))
    if (const ir::Let *let = stmt.as<ir::Let>(); let && let->local == value.id()) return &let->value;
  return nullptr;
}

bool Trace::attribute_to(SourceLocation where) {
  if (lines_.attributed.known()) return false;
  lines_.attributed = where;
  return true;
}

void Trace::refuse_depth(SourceLocation where) const {
  throw UserError(place(where),
                  "the functions that the kernel calls nest so deeply here that the thread's stack is nearly used up. "
                  "The capture runs them once, as C++, so that a function that calls itself has to end by a condition "
                  "that C++ knows, such as a depth in an int; an if_ or a select on traced values ends nothing. Write "
                  "a loop with range or while_, or keep what is still to be done in a local array");
}

void Trace::append(ir::Stmt stmt) {
  check_stack(stmt.where());
  lines_.latest = stmt.where();
  open_.back().statements.push_back(std::move(stmt));
}

void Trace::append(ir::Block statements) {
  for (ir::Stmt &stmt : statements) append(std::move(stmt));
}

void Trace::check_scope(ir::LocalId local, SourceLocation where) const {
  if (!block_is_open_[locals_.block[local]])
    throw UserError(place(where),
                    "a traced value is used after the loop or branch that computed it has ended; declare a local "
                    "before the loop or branch, assign to it inside, and use that");
}

ir::LocalId Trace::let_in(std::uint32_t block, ir::Operation operation, SourceLocation where) {
  auto at = std::ranges::find(open_, block, &OpenBlock::id);
  if (at == open_.end()) at = open_.end() - 1;
  locals_.block.push_back(at->id);
  const ir::LocalId local = locals_.end() - 1;
  at->statements.push_back({ir::Let{local, std::move(operation)}, place(where)});
  return local;
}

void Trace::rename_inside(std::uint32_t block, ir::LocalId from, ir::LocalId to) {
  auto at = std::ranges::find(open_, block, &OpenBlock::id);
  if (at == open_.end()) return;
  for (++at; at != open_.end(); ++at) at->statements = renamed_local(at->statements, from, to);
}

void Trace::rename_array_inside(std::uint32_t block, ir::LocalArrayId from, ir::LocalArrayId to) {
  auto at = std::ranges::find(open_, block, &OpenBlock::id);
  if (at == open_.end()) return;
  for (++at; at != open_.end(); ++at) at->statements = renamed_local_array(at->statements, from, to);
}

void Trace::record_in(std::uint32_t block, FunctionRef<void()> record) {
  auto at = std::ranges::find(open_, block, &OpenBlock::id);
  if (at == open_.end()) return record();
  ++at;
  std::vector<OpenBlock> inside(std::make_move_iterator(at), std::make_move_iterator(open_.end()));
  open_.erase(at, open_.end());
  record();
  std::ranges::move(inside, std::back_inserter(open_));
}

ir::LocalArrayId Trace::allocate(ScalarType type, std::int64_t size, SourceLocation where) {
  auto array = static_cast<ir::LocalArrayId>(local_arrays_.block.size());
  local_arrays_.block.push_back(open_.back().id);
  local_arrays_.owner.push_back(nullptr);
  append({ir::Allocate{array, type, ir::Value::constant(ScalarType::Int64, size)}, where});
  return array;
}

void Trace::check_local_array_scope(ir::LocalArrayId array, SourceLocation where) const {
  if (!block_is_open_[local_arrays_.block[array]])
    throw UserError(where,
                    "a local array is used after the loop or branch that declared it has ended; declare it before the "
                    "loop or branch");
}

std::size_t Trace::open_block(SourceLocation where) {
  check_stack(where);
  if (open_.size() > ir::maximum_nesting)
    throw UserError(
        place(where),
        "branches and loops nest more than " + std::to_string(ir::maximum_nesting) +
            " deep here. Where a function that calls itself opens them, give it an end that C++ knows, such "
            "as a depth in an int: the capture runs both sides of an if_; of a chain of conditions make "
            "select, or a loop over a local array");
  auto id = static_cast<std::uint32_t>(block_is_open_.size());
  block_is_open_.push_back(true);
  open_.push_back({{}, id, where});
  return open_.size();
}

ir::Block Trace::close_block(std::size_t depth) {
  if (open_.size() != depth)
    throw UserError(open_.back().where,
                    "this loop over range(…) was left by a native break, return or goto; the capture runs the body "
                    "once, so leave by break_(), continue_() or return_() inside of an if_ instead");
  ir::Block block = std::move(open_.back().statements);
  block_is_open_[open_.back().id] = false;
  open_.pop_back();
  return block;
}

void Trace::require_launch_rank(int rank, SourceLocation where) {
  if (launch_rank_ != 0 && launch_rank_ != rank)
    throw UserError(where, std::string(tiles() ? "block" : "thread") + "_index<" + std::to_string(rank) +
                               ">() in a kernel whose launch has " + std::to_string(launch_rank_) + " dimensions (" +
                               lines_.rank.to_string() + "); use one rank throughout a kernel");
  if (launch_rank_ == 0) lines_.rank = where;
  launch_rank_ = rank;
}

ir::Kernel Trace::finish(std::string name) {
  ir::Kernel kernel;
  kernel.name = std::move(name);
  kernel.parameters = parameters_;
  kernel.launch_rank = launch_rank_ == 0 ? 1 : launch_rank_;
  kernel.block_threads = block_threads_;
  kernel.body = jumps_.close().whole.around(close_block(1), lines_.kernel);
  kernel.local_count = locals_.end();
  kernel.local_array_count = static_cast<ir::LocalArrayId>(local_arrays_.block.size());
  kernel.where = lines_.kernel;
  kernel.launch_rank_where = lines_.rank;
  return kernel;
}

}  // namespace samite::lang
