// Refuses launches that are certain to leave an array, before they run.
//
// The accesses of every launch of a kernel are found once (passes/analysis/certain_accesses.h). A launch evaluates
// their index forms for its extents and arguments; for most kernels that is a comparison of two extents for each array.
// Debug mode finds accesses that depend on data or are in a branch.
#pragma once

#include "samite/jit/arguments.h"

namespace samite::jit {

// UserError with the kernel, the argument, its extent, the indices and the line of the access. The arguments have
// passed all other checks. For an adjoint, `arrays` are those whose elements or gradients it accesses, as bits.
void check_bounds(const KernelDefinition &definition, const Extents &extents, std::span<const Argument> arguments,
                  std::uint64_t arrays = ~std::uint64_t{0});

// Whether check_bounds reads this scalar argument.
bool bounds_depend_on(const KernelDefinition &definition, std::size_t scalar);

}  // namespace samite::jit
