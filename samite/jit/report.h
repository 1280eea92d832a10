// What became of a kernel: each variant that its launches have compiled, what it was made of, how long that took and
// what it needs.
//
//   std::cout << report(kernel);
//   std::string json = report(kernel).to_json();
//
// Values; reading them compiles nothing. Thread-safe.
#pragma once

#include "samite/jit/kernel.h"

#include <cstdint>
#include <iosfwd>
#include <string>
#include <vector>

namespace samite {

// The kernel's own text, or an operation on tiles that is compiled on its own for all kernels that call it.
struct ReportedObject {
  std::string name;       // of the function
  std::string operation;  // "matmul f32 8x8 of f32 8x4, f32 4x8"; empty for the kernel's own
  std::string from;       // "built"; reused from "memory", an "archive" or "disk"
  double milliseconds;    // until it was there; objects are made at the same time
  std::size_t bytes;
};

// On GPUs that have groups of warps which multiply what bulk copies bring: whether a product is computed so, which is
// the fastest way.
struct ReportedProduct {
  SourceLocation where;
  std::string why_not;  // "rows of 'a' do not all begin at multiples of 16 bytes"; empty: it is
  // Of factors whose arrays are copied before, and why: "rows of 'a' do not all begin at multiples of 16 bytes, so that
  // it is copied first".
  std::vector<std::string> copied{};
};

struct ReportedVariant {
  Direction direction;
  std::string target;               // "cpu", "sm_90a"
  std::vector<std::string> active;  // adjoint, tangent: the parameters that track gradients
  // "built", or the image as a whole reused from "memory", an "archive" or "disk": then nothing is known of its
  // objects' making, and `objects` has what it calls.
  std::string from;
  std::vector<ReportedObject> objects;  // CPU
  struct Step {
    std::string name;  // "derive", "lower", "emit", then those of the compilers: "open", "prelude", "objects", …
    double milliseconds;
  };
  std::vector<Step> steps;
  double milliseconds;  // from the captured kernel to code that is loaded, or on CUDA ready to be
  std::size_t image_bytes;
  // How much the memory of the process rose above all that it had used before, while this was compiled.
  std::size_t peak_compiler_bytes;
  // On CUDA, of each thread: registers, bytes moved for want of them, and of its stack frame.
  int registers;
  std::size_t spill_store_bytes, spill_load_bytes, local_bytes;
  std::size_t shared_bytes;               // of each block: what is in the image, and the plan for its tiles
  int sum_parts;                          // in which blocks of their own compute the sums of products; 1: in one
  bool parts_in_clusters;                 // which the blocks of a cluster then add up (Hopper), not a further kernel
  int teams;                              // of a block's threads, which multiply in turn (Hopper); 0: all do together
  int cluster_blocks;                     // that bring each other windows of factors (Hopper); 0: each is alone
  std::vector<ReportedProduct> products;  // in program order

  std::string to_string() const;
};

struct KernelReport {
  std::string kernel;
  std::vector<ReportedVariant> variants;  // in the order in which they were compiled

  std::string to_string() const;
  std::string to_json() const;  // one object, indented
};

std::ostream &operator<<(std::ostream &stream, const KernelReport &report);

namespace jit {
KernelReport report(const KernelDefinition &definition);
// Of a variant of a kernel with these parameters.
ReportedVariant report(const Variant &variant, const std::vector<ir::Parameter> &parameters);
}  // namespace jit

template <class Signature>
KernelReport report(const Kernel<Signature> &kernel) {
  return jit::report(*kernel.definition());
}

}  // namespace samite
