// A module with two kernels of one name.
#include <samite/python/module.h>
#include <samite/samite.h>

SAMITE_PYTHON_MODULE(samite_twice, module) {
  const samite::Kernel nothing{"nothing", [](samite::Array<float, 1>) {}};
  module.def(nothing);
  module.def(nothing);
}
