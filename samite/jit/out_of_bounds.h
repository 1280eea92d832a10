// Launches that are certain to leave an array, refused before they run.
//
// What every launch of a kernel touches is found once (passes/certain_accesses.h). A launch puts its extents and
// arguments into those forms; for most kernels that is a comparison of two extents for each array. Whatever depends on
// data or stands in a branch is for debug mode to find.
#pragma once

#include "samite/jit/arguments.h"

namespace samite::jit {

// UserError with the kernel, the argument, its extent, the indices and the line of the access. The arguments have been
// checked otherwise. Of an adjoint, `arrays` has those whose elements or gradients it touches, as bits.
void check_bounds(const KernelDefinition &definition, const Extents &extents, std::span<const Argument> arguments,
                  std::uint64_t arrays = ~std::uint64_t{0});

// Whether check_bounds asks for this scalar argument.
bool bounds_depend_on(const KernelDefinition &definition, std::size_t scalar);

}  // namespace samite::jit
