// Work to be differentiated: what the tools of gradient_check.h, jacobian.h and hessian.h have in common.
//
// Work is any function that launches kernels: a single launch, recorded launches, a whole tape's worth. It computes
// outputs from inputs and nothing else: whatever it accumulates into it clears itself, and it is run many times. A
// launch of a kernel is such work, too; the tools then know inputs and outputs from the kernel's parameters.
#pragma once

#include "samite/jit/kernel.h"
#include "samite/jit/tape.h"

#include <functional>
#include <string>
#include <vector>

namespace samite::jit {

// The contents of arrays, to be put back.
class Contents {
 public:
  explicit Contents(const std::vector<Buffer<double>> &arrays);
  void restore();
  const std::vector<double> &of(std::size_t array) const { return values_[array]; }

 private:
  std::vector<Buffer<double>> arrays_;
  std::vector<std::vector<double>> values_;
};

// The arrays of a launch that have gradients: all of them as inputs, those that the kernel writes as outputs, too.
struct DifferentiableArguments {
  std::vector<Buffer<double>> inputs, outputs;
  std::vector<std::string> names;  // of the inputs: the parameters'
};
// UserError where one of them is not double, or no array that the kernel reads, or none that it writes, has one.
DifferentiableArguments differentiable_arguments(const KernelDefinition &definition,
                                                 std::span<const Argument> arguments, SourceLocation where);

// UserError "<tool>: <what> 0 tracks no gradient …" where one of them does not.
void require_tracked(const char *tool, const std::vector<Buffer<double>> &arrays, const char *what);

// The gradients of `inputs` for the given cotangents of `outputs`, by a tape over one run of `work`.
std::vector<std::vector<double>> gradients(const std::function<void()> &work, std::vector<Buffer<double>> &inputs,
                                           std::vector<Buffer<double>> &outputs,
                                           const std::vector<std::vector<double>> &cotangents);

// Numbers between -1 and 1, one for each element of each array.
std::vector<std::vector<double>> random_values(const std::vector<Buffer<double>> &arrays, unsigned seed);

// The index of the element that is number `element` in row-major order.
std::vector<std::int64_t> index_of(std::int64_t element, const Extents &extents);

}  // namespace samite::jit
