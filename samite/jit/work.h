// Functions to be differentiated: common code of gradient_check.h, jacobian.h and hessian.h.
//
// Work is any function that launches kernels: a single launch, recorded launches, a whole tape's worth. Its outputs
// depend only on its inputs: it clears arrays that it accumulates into, and it is run many times. A launch of a kernel
// is also such work; the inputs and outputs then follow from the kernel's parameters.
#pragma once

#include "samite/base/function_ref.h"
#include "samite/jit/kernel.h"
#include "samite/jit/tape.h"

#include <string>
#include <vector>

namespace samite::jit {

// Saves and restores the contents of arrays.
class Contents {
 public:
  explicit Contents(const std::vector<Buffer<double>> &arrays);
  void restore();
  const std::vector<double> &of(std::size_t array) const { return values_[array]; }

 private:
  std::vector<Buffer<double>> arrays_;
  std::vector<std::vector<double>> values_;
};

// The arrays of a launch that have gradients: all of them are inputs, and those that the kernel writes are also
// outputs.
struct DifferentiableArguments {
  std::vector<Buffer<double>> inputs, outputs;
  std::vector<std::string> names;  // of the inputs: the parameters'
};
// UserError if one of them is not double, or if no array that the kernel reads, or writes, has one.
DifferentiableArguments differentiable_arguments(const KernelDefinition &definition,
                                                 std::span<const Argument> arguments, SourceLocation where);

// UserError "<tool>: <what> 0 tracks no gradient …" for the first that does not.
void require_tracked(const char *tool, const std::vector<Buffer<double>> &arrays, const char *what);

// The gradients of `inputs` for the given cotangents of `outputs`, by a tape over one run of `work`.
std::vector<std::vector<double>> gradients(FunctionRef<void()> work, std::vector<Buffer<double>> &inputs,
                                           std::vector<Buffer<double>> &outputs,
                                           const std::vector<std::vector<double>> &cotangents);

// Numbers between -1 and 1, one for each element of each array.
std::vector<std::vector<double>> random_values(const std::vector<Buffer<double>> &arrays, unsigned seed);

// The index of the element that is number `element` in row-major order.
std::vector<std::int64_t> index_of(std::int64_t element, const Extents &extents);

}  // namespace samite::jit
