// The capabilities of this machine's CPU, found without loading a compiler.
//
// The compile itself gets the exact features from LLVM; this provides the facts needed before it: the machine's name in
// cache keys, and the vector width. Thread-safe.
//
// SAMITE_CPU_VECTOR_BYTES (16, 32 or 64) is an upper bound on the width; the compiler then uses no wider instructions
// either, which reproduces results of a narrower machine. A machine that is narrower keeps its own width.
//
// SAMITE_CPU_ARCHITECTURE (x86-64-v2, x86-64-v3 or x86-64-v4) compiles for that level of the x86-64 ABI instead of this
// machine's model, which reproduces results of another machine. Vectors are then at most as wide as the level allows:
// 16, 32 or 64 bytes. A level that the machine lacks is an error.
//
// SAMITE_CPU_CONTRACTION=0 disables the fusion of products and sums.
//
// SAMITE_CPU_OPTIMIZATION (0 to 3) is for programs that compile more than they run.
#pragma once

#include <string>
#include <vector>

namespace samite {

struct HostTarget {
  // Equal on two machines that run the same code: the architecture, and for this machine's processor also the
  // instructions that it has. Not its model, the number of cores or the C library's version: an image that needs a
  // newer C library does not load.
  std::string fingerprint;
  std::string architecture;  // as in SAMITE_CPU_ARCHITECTURE; empty: this machine's model
  int vector_bytes = 16;     // 64 with AVX-512 F, VL, DQ and BW; 32 with AVX2 and FMA; else 16
  bool contraction = true;   // whether a product and a sum may become one fused multiply-add

  std::string name() const { return architecture.empty() ? "this machine's processor" : architecture; }
};

// Throws UserError if SAMITE_CPU_VECTOR_BYTES is not 16, 32 or 64, if this machine lacks the level in
// SAMITE_CPU_ARCHITECTURE, and if SAMITE_CPU_CONTRACTION is neither 0 nor 1.
HostTarget host_target();

// The same for a level of x86-64, whether or not this machine has it: to compile for another one.
HostTarget host_target_of_level(const std::string &level);

// The levels of x86-64 that this machine supports, best first, no wider than SAMITE_CPU_VECTOR_BYTES; only the one in
// SAMITE_CPU_ARCHITECTURE, if that is set.
std::vector<std::string> host_levels();

// The compiler's optimisation level for kernels: SAMITE_CPU_OPTIMIZATION, default 2. Throws UserError for an invalid
// level.
int host_optimization();

}  // namespace samite
