// The report of a kernel: each compiled variant, its objects, their compile times and resources.
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

// The kernel's own text, or an operation on tiles that is compiled separately for all kernels that call it.
struct ReportedObject {
  std::string name;       // of the function
  std::string operation;  // "matmul f32 8x8 of f32 8x4, f32 4x8"; empty for the kernel's own text
  std::string from;       // "built"; reused from "memory", an "archive" or "disk"
  double milliseconds;    // until it was available; objects are made concurrently
  std::size_t bytes;
};

// On GPUs with warp groups and bulk copies: whether a product uses them, the fastest method.
struct ReportedProduct {
  SourceLocation where;
  std::string why_not;  // "rows of 'a' do not all begin at multiples of 16 bytes"; empty: it does
  // For factors whose arrays are copied first, the reason: "rows of 'a' do not all begin at multiples of 16 bytes, so
  // that it is copied first".
  std::vector<std::string> copied{};
};

// The resources that a kernel takes on CUDA; zeros elsewhere.
struct ReportedResources {
  // A thread's registers, spilled bytes, and bytes of its stack frame.
  int registers;
  std::size_t spill_store_bytes, spill_load_bytes, local_bytes;
  std::size_t shared_bytes;  // of each block: static memory of the image, and the plan for its tiles
};

// CUDA: how blocks share the work of a tile kernel.
struct ReportedBlocks {
  int sum_parts;           // split-K parts of the sums of products; 1: no split
  bool parts_in_clusters;  // the blocks of a cluster reduce the parts (Hopper), not another kernel
  int teams;               // of a block's consumer threads, which multiply alternately (Hopper); 0: none
  int cluster_blocks;      // that load windows of factors for each other (Hopper); 0: no clusters
};

struct ReportedVariant {
  Direction direction;
  std::string target;               // "cpu", "sm_90a"
  std::vector<std::string> active;  // adjoint, tangent: the parameters that track gradients
  // "built", or the whole image reused from "memory", an "archive" or "disk": then the making of its objects is
  // unknown, and `objects` lists the called ones.
  std::string from;
  std::vector<ReportedObject> objects;  // CPU
  struct Step {
    std::string name;  // "derive", "lower", "emit", then those of the compilers: "open", "prelude", "objects", …
    double milliseconds;
  };
  std::vector<Step> steps;
  double milliseconds;  // from the captured kernel to loaded code, or on CUDA to loadable code
  std::size_t image_bytes;
  // The rise of the process's peak memory during the compilation.
  std::size_t peak_compiler_bytes;
  ReportedResources resources;
  ReportedBlocks blocks;
  TilePlan plan;                          // of a tile kernel on CUDA: as asked for, and as the library has chosen
  int trials;                             // CUDA: of plans for its tiles, before the one that is emitted
  std::vector<ReportedProduct> products;  // in program order

  std::string to_string() const;
};

struct KernelReport {
  std::string kernel;
  std::vector<ReportedVariant> variants;  // in the order of compilation

  std::string to_string() const;
  std::string to_json() const;  // one object, indented
};

std::ostream &operator<<(std::ostream &stream, const KernelReport &report);

namespace jit {
KernelReport report(const KernelDefinition &definition);
// For a variant of a kernel with these parameters.
ReportedVariant report(const Variant &variant, const std::vector<ir::Parameter> &parameters);
}  // namespace jit

template <class Signature>
KernelReport report(const Kernel<Signature> &kernel) {
  return jit::report(*kernel.definition());
}

}  // namespace samite
