# Python modules of a user's own kernels: see samite/python/module.h.
#
#   find_package(samite REQUIRED)
#   samite_add_python_module(my_kernels my_kernels.cpp)
#
# The module is my_kernels.abi3.so, for CPython 3.11 and newer. It finds the library where the build found it; a program
# that has imported the package `samite` has already loaded the package's own copy.
function(samite_add_python_module name)
  add_library(${name} MODULE ${ARGN})
  target_link_libraries(${name} PRIVATE samite::samite)
  get_target_property(version samite::samite SAMITE_VERSION)
  target_compile_definitions(${name} PRIVATE SAMITE_PYTHON_VERSION="${version}")
  set_target_properties(${name} PROPERTIES PREFIX "" SUFFIX ".abi3.so" CXX_VISIBILITY_PRESET hidden)
endfunction()
