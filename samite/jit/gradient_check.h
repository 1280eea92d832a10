// Checks of gradients against central differences, and Jacobians.
//
//   GradientReport report = gradcheck([&] { kernel.launch({n}, y, x); }, {x}, {y});
//   EXPECT_TRUE(report.passed) << report;
//
// `work` is any function that launches kernels: a single launch, recorded launches, a whole tape's worth. It computes
// `outputs` from `inputs` and nothing else: whatever it accumulates into it clears itself, and it is run many times.
// All of it in double, since differences of floats leave half of the digits at most.
#pragma once

#include "samite/jit/tape.h"

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

namespace samite {

struct GradientCheckOptions {
  double step = 1e-6;         // of the central differences: relative to max(1, |x|)
  double tolerance = 1e-6;    // of |gradient - difference| / max(1, |difference|)
  unsigned seed = 1;          // of the random cotangents
  std::int64_t elements = 0;  // how many elements of each input to check, spread over it; 0: all
};

// The element with the largest error, and whether that is within the tolerance.
struct GradientReport {
  bool passed = false;
  double error = 0;       // |gradient - difference| / max(1, |difference|)
  std::size_t input = 0;  // which of the inputs, and its name if it has one
  std::string name;
  std::vector<std::int64_t> index;  // the element
  double gradient = 0, difference = 0;
  std::int64_t checked = 0;  // elements in all

  std::string to_string() const;
};
std::ostream &operator<<(std::ostream &stream, const GradientReport &report);

// Compares the gradient of a random combination of all outputs, by the adjoint of `work`, with its central differences.
// Inputs and outputs track gradients; an array may be both. Contents and gradients are as before when it returns, but
// for the gradients of inputs, which hold the checked gradient.
GradientReport gradcheck(const std::function<void()> &work, std::vector<Buffer<double>> inputs,
                         std::vector<Buffer<double>> outputs, const GradientCheckOptions &options = {});

// d(output) / d(input), row by row: entry [i * input.count() + j] is the derivative of output element i with respect to
// input element j, both in row-major order. One run of the adjoint for each element of the output.
std::vector<double> jacobian(const std::function<void()> &work, const Buffer<double> &input,
                             const Buffer<double> &output);

}  // namespace samite
