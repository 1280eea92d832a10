// The walk over one lowered kernel that writes its text: internal to codegen. Two printers derive from it: for the
// CPU's lanes (`codegen/lanes_emitter.h`) and for CUDA's threads (`codegen/threads_emitter.h`).
//
// The walk has everything common to both: the order of the text, scalar operations, and uniform branches and loops.
#pragma once

#include "samite/codegen/emission.h"
#include "samite/codegen/failures.h"
#include "samite/codegen/loop_text.h"
#include "samite/codegen/tile_calls.h"
#include "samite/codegen/tile_places.h"
#include "samite/codegen/values.h"

#include <string>

namespace samite::codegen {

class Walk {
 public:
  Walk(const Walk &) = delete;
  Walk &operator=(const Walk &) = delete;

  EmittedSource emit(const std::string &entry);

 protected:
  // `values` must outlive this.
  Walk(const ir::Kernel &kernel, const EmitOptions &options, const Values &values, TileFunctions functions);
  ~Walk() = default;

  // Writes the text before and after the body of the kernel: the signature of the entry, and its arguments as locals.
  // In the body `p3.data`, `p3.extent[1]`, `p3.stride[0]` belong to an array parameter, `p4` is a scalar parameter,
  // `begin` and `end` are the box of the launch, `failure` records failures, and `workspace` is memory for local
  // arrays.
  virtual void open_kernel(const std::string &entry) = 0;
  virtual void close_kernel() = 0;
  virtual void body() { block(kernel_.body); }

  virtual void block(const ir::Block &block);
  void statement(const ir::Stmt &stmt);
  virtual void let(const ir::Let &let, SourceLocation where) = 0;
  virtual void store(const ir::Store &store, SourceLocation where) = 0;
  virtual void accumulate(const ir::Accumulate &accumulate, SourceLocation where) = 0;
  virtual void allocate(const ir::Allocate &allocate, SourceLocation where) = 0;
  virtual void local_store(const ir::LocalStore &store, SourceLocation where) = 0;
  virtual void print(const ir::Print &print, SourceLocation where) = 0;
  virtual void check(const ir::Check &check, SourceLocation where) = 0;
  virtual void branch(const ir::If &branch) { common_branch(branch); }
  virtual void loop(const ir::For &loop) = 0;
  virtual void loop(const ir::While &loop) { common_loop(loop); }
  // Accesses to neighbours, copies and barriers.
  virtual void of_threads(const ir::Stmt &stmt) = 0;

  // control_flow.cpp
  void common_branch(const ir::If &branch);
  void common_loop(const ir::For &loop);
  void common_loop(const ir::While &loop);
  virtual std::string condition(const ir::Value &value) { return scalar(value); }
  virtual void loop_body(const ir::For &loop) { block(loop.body); }
  virtual void keep_small(const ir::For &) {}  // asks the compiler not to unroll a large loop

  // operations.cpp: the scalar result of an operation.
  std::string expression(const ir::Operation &operation, SourceLocation where);
  // For an access to memory.
  virtual std::string access(const ir::Operation &operation, SourceLocation where) = 0;
  std::string division(const ir::Operation &operation, SourceLocation where);
  // In debug mode.
  virtual void check_divisor(const ir::Value &divisor, SourceLocation where) = 0;

  void define_arguments(bool named = true);
  // Workspace memory allocated by the block is released at its end, on all paths.
  void open_scope(const ir::Block &block);

  std::string name(ir::LocalId local) const { return values_.name(local); }
  std::string scalar(const ir::Value &value) const { return values_.scalar(value); }
  std::string fresh(std::string_view prefix) { return emission_.fresh(prefix); }

  Emission emission_;
  const ir::Kernel &kernel_;
  const EmitOptions &options_;
  SourceWriter &out_;
  Failures failures_;
  LoopText loop_text_;
  const TilePlaces places_;
  TileCalls tile_calls_;
  int thread_loops_ = 0;  // numbers their names

 private:
  const Values &values_;
};

}  // namespace samite::codegen
