// What modules of users' kernels find in the package: see samite/python/module.h.
#pragma once

#include "python_errors.h"

namespace samite::python {

void define_interface(nb::module_ &module);

}  // namespace samite::python
