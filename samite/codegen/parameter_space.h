// The limit of a CUDA kernel's parameters.
#pragma once

#include "samite/ir/kernel.h"

namespace samite::codegen {

// Whether the kernel's parameters fit CUDA's parameter space; throws UserError if they do not.
bool fits_parameter_space(const ir::Kernel &kernel);
void check_parameter_space(const ir::Kernel &kernel);

}  // namespace samite::codegen
