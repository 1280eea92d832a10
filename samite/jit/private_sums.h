// Sums without atomics: each worker adds into copies of its own.
//
// Where a kernel does nothing with an array but add to its elements (the gradients of what a stencil or an all-pairs
// loop reads, a histogram, a loss), many threads would meet at one element, and an atomic addition costs the CPU some
// twenty plain ones. Instead the code adds plainly, each worker into an array of zeros of its own, and the launch adds
// these up when all boxes have run. A launch that is one box adds to the array itself.
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
  // `arguments` is the launch's block, and outlives this.
  PrivateSums(const Variant &variant, const std::byte *arguments);

  // The calling worker's argument block, in which the summed arrays are its own.
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
  std::vector<std::optional<Worker>> workers_;  // by worker index; each touched by that worker alone until merge()
};

}  // namespace samite::jit
