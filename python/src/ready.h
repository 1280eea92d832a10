// The library's own operations (samite/ops/) as Python kernels: samite/ready.py calls them.
#pragma once

#include "python_errors.h"

namespace samite::python {

void define_ready(nb::module_ &module);

}  // namespace samite::python
