// The recorder behind the traced values.
//
// While a kernel's function runs under capture, each operation on a traced value appends one statement to the block
// that is open. A thread captures one kernel at a time; captures on different threads are independent.
//
// Users never name a Trace: they write with `Traced` values (lang/traced.h), arrays (lang/array.h) and control flow
// (lang/control.h).
#pragma once

#include "samite/base/function_ref.h"
#include "samite/ir/kernel.h"
#include "samite/lang/jumps.h"
#include "samite/lang/stack_room.h"

#include <utility>
#include <vector>

namespace samite::lang {

class LocalArrayHandle;
class LocalHandle;
class PipelineTrace;

class Trace {
 public:
  // The capture that is running on this thread; a UserError that names `where` if there is none.
  static Trace &current(SourceLocation where);

  // The same; null if no capture is running.
  static Trace *running();

  // Makes a new trace current for its own lifetime. Captures do not nest: UserError. `block_threads` is the number of
  // threads of a tile kernel's block, else 0.
  Trace(int launch_rank, std::vector<ir::Parameter> parameters, SourceLocation where, int block_threads = 0);
  ~Trace();
  Trace(const Trace &) = delete;
  Trace &operator=(const Trace &) = delete;

  // The kernel's line.
  SourceLocation where() const { return lines_.kernel; }

  // Distinguishes values of this capture from those of others.
  std::uint32_t serial() const { return serial_; }

  // Recording is a UserError if the function has called itself, or others, so deeply that little of the thread's stack
  // is left.
  //
  // Appends `%n = operation` and returns %n.
  ir::Value let(ir::Operation operation, SourceLocation where);
  void assign(ir::LocalId local, ir::Value value, SourceLocation where);
  void append(ir::Stmt stmt);
  void append(ir::Block statements);

  // UserError if `local` was defined in a block that has since been closed: the value left its scope.
  void check_scope(ir::LocalId local, SourceLocation where) const;

  std::uint32_t open_block_id() const { return open_.back().id; }
  std::uint32_t block_of(ir::LocalId local) const { return locals_.block[local]; }
  // Like `let`, but appends to the end of the open block of this number, which may enclose others; if it is closed, to
  // the innermost block.
  ir::LocalId let_in(std::uint32_t block, ir::Operation operation, SourceLocation where);

  // The C++ object that owns a local's value: the last one that it was moved to, null if that object is gone.
  LocalHandle *owner(ir::LocalId local) const { return local < locals_.owner.size() ? locals_.owner[local] : nullptr; }
  void set_owner(ir::LocalId local, LocalHandle *owner) {
    if (local >= locals_.owner.size()) locals_.owner.resize(locals_.block.size());
    locals_.owner[local] = owner;
  }

  // Renames the local `from` to `to` in all open blocks inside the block of this number. If the block is closed,
  // nothing is inside of it.
  void rename_inside(std::uint32_t block, ir::LocalId from, ir::LocalId to);

  // The same for local arrays: a new one in the open block, and whether that block is still open.
  ir::LocalArrayId allocate(ScalarType type, std::int64_t size, SourceLocation where);
  void check_local_array_scope(ir::LocalArrayId array, SourceLocation where) const;
  std::uint32_t array_block_of(ir::LocalArrayId array) const { return local_arrays_.block[array]; }
  LocalArrayHandle *array_owner(ir::LocalArrayId array) const { return local_arrays_.owner[array]; }
  void set_array_owner(ir::LocalArrayId array, LocalArrayHandle *owner) { local_arrays_.owner[array] = owner; }
  void rename_array_inside(std::uint32_t block, ir::LocalArrayId from, ir::LocalArrayId to);

  // Runs `record`, which opens and closes blocks in pairs, as if the blocks inside the block of this number were not
  // open yet; if that block is closed, records in the innermost one.
  void record_in(std::uint32_t block, FunctionRef<void()> record);

  SourceLocation latest_location() const { return lines_.latest; }

  // Records everything at `where` from now on (lang/attributed.h); false, without effect, if an attribution is in force
  // already.
  bool attribute_to(SourceLocation where);
  void end_attribution() { lines_.attributed = {}; }

  ir::LocalId new_local();
  // A variable of a pipeline, which is visible everywhere: no statement defines it.
  ir::LocalId new_variable();
  // The operation that defined a local of the open block; null if there is none.
  const ir::Operation *operation(const ir::Value &value) const;
  bool is_variable(ir::LocalId local) const { return local < locals_.is_variable.size() && locals_.is_variable[local]; }
  // Blocks nest: each is closed with the depth at which it was opened. UserError if there are more blocks than
  // ir::maximum_nesting, or a block inside is still open: it names the loop that a native `break`, `return` or `goto`
  // left.
  std::size_t open_block(SourceLocation where);
  ir::Block close_block(std::size_t depth);

  JumpTargets &jumps() { return jumps_; }

  // Whether the function describes a block, and may use tiles.
  bool tiles() const { return block_threads_ != 0; }
  int block_threads() const { return block_threads_; }

  // Whether the adjoint of a custom_adjoint is being captured.
  bool in_adjoint() const { return in_adjoint_; }
  bool set_in_adjoint(bool in_adjoint) { return std::exchange(in_adjoint_, in_adjoint); }

  // Called for a thread_index of rank r: fixes the rank of the launch, once. UserError if it was fixed to another rank.
  void require_launch_rank(int rank, SourceLocation where);

  const std::vector<ir::Parameter> &parameters() const { return parameters_; }
  std::uint32_t add_parameter(ir::Parameter parameter);

  // The state of a pipeline beyond its statements (lang/pipeline_trace.h); null in the capture of a kernel.
  PipelineTrace *pipeline() const { return pipeline_; }
  void set_pipeline(PipelineTrace *pipeline) { pipeline_ = pipeline; }
  // Whether no loop, branch or function of `returning` is open; and the statements so far if none is.
  bool at_top() const { return open_.size() == 1; }
  const ir::Block &top_statements() const { return open_.front().statements; }

  // Ends the capture; throws as close_block does.
  ir::Kernel finish(std::string name);

 private:
  struct OpenBlock {
    ir::Block statements;
    std::uint32_t id;
    SourceLocation where;
  };

  // The line at which operations at `where` are recorded.
  SourceLocation place(SourceLocation where) const { return lines_.attributed.known() ? lines_.attributed : where; }
  void check_stack(SourceLocation where) const {
    if (stack_.used_up()) refuse_depth(where);
  }
  [[noreturn]] void refuse_depth(SourceLocation where) const;

  struct Lines {
    SourceLocation kernel, latest, attributed, rank;
  };
  struct Locals {  // by local
    std::vector<std::uint32_t> block;
    std::vector<LocalHandle *> owner;
    std::vector<bool> is_variable;
    ir::LocalId end() const { return static_cast<ir::LocalId>(block.size()); }
  };
  struct LocalArrays {  // by local array
    std::vector<std::uint32_t> block;
    std::vector<LocalArrayHandle *> owner;
  };

  std::uint32_t serial_;
  std::vector<ir::Parameter> parameters_;
  Lines lines_;
  int launch_rank_, block_threads_;
  bool in_adjoint_ = false;
  StackRoom stack_;
  JumpTargets jumps_;
  PipelineTrace *pipeline_ = nullptr;
  std::vector<OpenBlock> open_;
  std::vector<bool> block_is_open_;  // by block id
  Locals locals_;
  LocalArrays local_arrays_;
};

}  // namespace samite::lang
