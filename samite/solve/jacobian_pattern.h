// Which elements of one array the elements of another depend on, in one launch of a kernel.
//
// The host runs the kernel's integers, and in place of its floating-point numbers the sets of the input's elements that
// they depend on (Griewank and Walther, Evaluating Derivatives, 2nd ed. 2008, section 7.1). Indices may be computed in
// any way from thread indices, loop indices, extents, integer arguments and arrays of integers. Both sides of a branch
// count if its condition depends on floating-point numbers, so that the pattern holds for all values of these.
#pragma once

#include "samite/ir/kernel.h"
#include "samite/jit/argument.h"

#include <cstdint>
#include <span>
#include <vector>

namespace samite::solvers::detail {

// For each element of the output, in row-major order: those of the input, in increasing order.
struct ElementPattern {
  std::vector<std::int64_t> offsets;
  std::vector<std::int32_t> indices;
};

// `kernel` is in structured form; `input` and `output` are two of its arrays. UserError, with the line, for a kernel of
// tiles, an input that the kernel writes, and indices and numbers of iterations that depend on floating-point numbers
// or on integers that the kernel writes.
ElementPattern element_pattern(const ir::Kernel &kernel, const Extents &extents,
                               std::span<const jit::Argument> arguments, std::uint32_t input, std::uint32_t output,
                               SourceLocation where);

}  // namespace samite::solvers::detail
