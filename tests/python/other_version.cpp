// A module that says it is of another version of the library.
#include <samite/python/module.h>

SAMITE_PYTHON_MODULE(samite_other_version, module) {}
