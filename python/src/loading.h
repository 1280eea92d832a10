// The library's path and its cache on disk, for samite/_load.py.
#pragma once

#include "python_errors.h"

namespace samite::python {

void define_loading(nb::module_ &module);

}  // namespace samite::python
