// CUDA: a thread runs each instance of a launch, and the loops over the launch become the grid.
#pragma once

#include "samite/codegen/emit.h"
#include "samite/codegen/target.h"

namespace samite::codegen {

class CudaTarget final : public Target {
 public:
  // Asks the compiler for code of which a multiprocessor can run this many blocks at a time; 0 asks for nothing.
  explicit CudaTarget(CudaForm form, int blocks_at_once = 0) : form_(form), blocks_at_once_(blocks_at_once) {}

  bool explicit_lanes() const override { return false; }
  void open_kernel(SourceWriter &out, const ir::Kernel &kernel, const std::string &entry) const override;
  void close_kernel(SourceWriter &out) const override;
  void thread_loop(SourceWriter &out, const ThreadLoop &loop, const std::function<void()> &body) const override;

 private:
  void exact_loop(SourceWriter &out, const ThreadLoop &loop, const std::function<void()> &body) const;
  void marched_loop(SourceWriter &out, const ThreadLoop &loop, const std::function<void()> &body) const;
  void grid_stride_loop(SourceWriter &out, const ThreadLoop &loop, const std::function<void()> &body) const;

  CudaForm form_;
  int blocks_at_once_;
};

// Whether the kernel's parameters fit CUDA's parameter space; throws UserError where they do not.
bool fits_parameter_space(const ir::Kernel &kernel);
void check_parameter_space(const ir::Kernel &kernel);

}  // namespace samite::codegen
