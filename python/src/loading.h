// What samite/_load.py needs of the library: where it is, and its cache on disk.
#pragma once

#include "python_errors.h"

namespace samite::python {

void define_loading(nb::module_ &module);

}  // namespace samite::python
