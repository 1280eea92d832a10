# Parses the library's headers once for all sources of a target.
#
#   find_package(samite REQUIRED)
#   add_executable(simulation main.cpp kernels.cpp)
#   target_link_libraries(simulation PRIVATE samite::samite)
#   samite_precompile_headers(simulation)
#
# Targets with the same compile options can share the precompiled headers:
#   target_precompile_headers(other REUSE_FROM simulation)
function(samite_precompile_headers target)
  if(NOT TARGET ${target})
    message(FATAL_ERROR "samite_precompile_headers(${target}): there is no such target")
  endif()
  target_precompile_headers(${target} PRIVATE <samite/samite.h>)
endfunction()
