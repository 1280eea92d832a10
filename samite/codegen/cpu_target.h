// The CPU: a thread loop runs as vectors, each lane an instance.
//
// Full vectors run first, with a constant mask, so that the compiler removes all masking. The rest runs the same code
// with some lanes off. So a small body is compiled twice. A large one is compiled once, masked, because there the
// compile time matters more.
#pragma once

#include "samite/codegen/target.h"

namespace samite::codegen {

class CpuTarget final : public Target {
 public:
  explicit CpuTarget(int lanes) : lanes_(lanes) {}

  bool explicit_lanes() const override { return true; }
  void open_kernel(SourceWriter &out, const ir::Kernel &kernel, const std::string &entry) const override;
  void close_kernel(SourceWriter &out) const override;
  void thread_loop(SourceWriter &out, const ThreadLoop &loop, const std::function<void()> &body) const override;

 private:
  int lanes_;
};

// How many lanes a kernel's vectors have on a machine whose registers hold `vector_bytes`: one for each 8 bytes where
// more of its floating-point operations (loads included) are f64 than f32, else one for each 4 bytes.
int cpu_lanes(const ir::Kernel &kernel, int vector_bytes);

}  // namespace samite::codegen
