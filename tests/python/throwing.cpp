// A module whose definition throws.
#include <samite/python/module.h>

#include <stdexcept>

SAMITE_PYTHON_MODULE(samite_throwing, module) { throw std::runtime_error("not today"); }
