// Adjoints to be archived, by their names: ADJOINTS of samite_add_kernels (docs/shipping.md).
//
//   SAMITE_AOT_ADJOINTS="scale(y,x) loss(total,x)"
//
// Each kernel with one of these names is added to the archive that the run records, with its adjoint for these arrays,
// when the kernel is constructed, without a launch. If a named kernel is never constructed, the run writes an error and
// exits with 1.
#pragma once

#include "samite/base/source_location.h"

namespace samite::jit {

class KernelDefinition;

// Called for each kernel of the program. UserError if the variable cannot be read, or as in add_to_archive.
void record_named_adjoints(KernelDefinition &definition, SourceLocation where);

}  // namespace samite::jit
