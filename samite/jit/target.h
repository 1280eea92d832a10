// The target that a kernel is compiled for: the CPU of this process, or GPUs of one compute capability.
//
// The rest of jit/ asks a Target instead of computing with compute capabilities. Passes get its row, with the units,
// copies and limits of its multiprocessors (passes/analysis/architecture.h); a new GPU is a row there, and a line in
// target.cpp with its name for the compiler. A value without state; thread-safe.
#pragma once

#include "samite/passes/analysis/architecture.h"
#include "samite/toolchain/cuda_compiler.h"

#include <span>
#include <string>

namespace samite::jit {

class Target {
 public:
  // 90 for 9.0; 0: the CPU. VariantKey::cuda is such a number.
  static constexpr Target of(int compute_capability) { return Target(compute_capability); }
  static constexpr Target cpu() { return Target(0); }

  bool is_cpu() const { return capability_ == 0; }
  bool is_gpu() const { return capability_ != 0; }
  int compute_capability() const { return capability_; }

  // The row that passes read. For a GPU without a row, the last one before it.
  const passes::Architecture &architecture() const;
  // The threads that run in step: a warp's 32 on a GPU. A CPU thread has vectors, whose width its compiler knows.
  int subgroup() const { return is_gpu() ? 32 : 1; }
  // Whether main loops can be fed by bulk copies and multiplied by warp groups (passes/sm90).
  bool has_warp_groups() const { return is_gpu() && architecture().has_warp_groups(); }
  // Whether a launch may begin while the one before it ends (CudaOptions::programmatic).
  bool launches_early() const { return capability_ >= 90; }

  // "cpu"; "sm_90a": code for GPUs of this capability only, which may use features that their successors lack.
  std::string name() const;
  // Compiles a kernel's text, with its includes. DeviceError, UserError: toolchain/cuda_compiler.h. Only for a GPU.
  CompiledCuda compile(const CudaSource &source) const;

  // Whether Samite's tests and benchmarks have run on such hardware. Tests compile kernels for all of known_gpus();
  // without hardware nothing more is known.
  bool has_been_run() const;

  friend constexpr bool operator==(const Target &, const Target &) = default;

 private:
  explicit constexpr Target(int capability) : capability_(capability) {}

  int capability_;
};

// The GPUs that the tests compile kernels for, oldest first.
std::span<const Target> known_gpus();

}  // namespace samite::jit
