// The package's interface for modules of users' kernels: see samite/python/module.h.
#pragma once

#include "python_errors.h"

namespace samite::python {

void define_interface(nb::module_ &module);

}  // namespace samite::python
