// The compilers that kernels need on this machine, and how to install missing ones.
#pragma once

#include "python_errors.h"

namespace samite::python {

void define_requirements(nb::module_ &module);

}  // namespace samite::python
