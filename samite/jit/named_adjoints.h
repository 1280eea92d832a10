// Adjoints that an archive is to have, by their names: ADJOINTS of samite_add_kernels (docs/shipping.md).
//
//   SAMITE_AOT_ADJOINTS="scale(y,x) loss(total,x)"
//
// Each kernel of that name, with its adjoint for these arrays, is added to the archive that the run records when the
// kernel is constructed, without a launch. A kernel that is named and never constructed ends the run: it writes an
// error and exits with 1.
#pragma once

#include "samite/base/source_location.h"

namespace samite::jit {

class KernelDefinition;

// Called for each kernel of the program. UserError if the variable cannot be read, or as in add_to_archive.
void record_named_adjoints(KernelDefinition &definition, SourceLocation where);

}  // namespace samite::jit
