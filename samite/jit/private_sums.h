// Sums without atomics: each worker adds into its own copies.
//
// If a kernel only adds to an array's elements (gradients of a stencil or an all-pairs loop, a histogram, a loss), many
// threads would contend for one element, and an atomic addition costs the CPU about twenty plain ones. Instead the code
// adds plainly, each worker into its own zeroed array, and the launch reduces these when all boxes have run. A launch
// of one box adds to the array itself.
//
// One object serves one launch. `block()` may be called from any of its workers.
#pragma once

#include "samite/jit/variant.h"
#include "samite/runtime/scratch.h"

#include <memory>
#include <optional>
#include <vector>

namespace samite::jit {

class PrivateSums {
 public:
  // `arguments` is the launch's block, and must outlive this.
  PrivateSums(const Variant &variant, const std::byte *arguments);

  // The calling worker's argument block, with its private copies of the summed arrays.
  const std::byte *block();

  // Adds the workers' sums to the arrays. Once, after all boxes have run.
  void merge();

 private:
  struct Worker {
    std::vector<std::byte> block;
    std::vector<Scratch> sums;  // one for each array
  };
  struct SummedArray {
    std::size_t offset;  // of its descriptor in the block
    std::int64_t elements;
    ScalarType type;
  };

  const Variant &variant_;
  const std::byte *arguments_;
  std::vector<SummedArray> arrays_;
  std::vector<std::optional<Worker>> workers_;  // by worker index; accessed only by that worker until merge()
};

}  // namespace samite::jit
