# Kernels that are compiled while a program is built, so that it runs where there is no compiler.
#
#   find_package(samite REQUIRED)
#   samite_add_kernels(my_kernels SOURCES my_kernels_main.cpp simulation.cpp TARGETS x86-64-v3 x86-64-v4)
#   target_link_libraries(my_program PRIVATE my_kernels)
#
# SOURCES are a program whose main() makes the launches that are to be in the archive, forward and adjoint, on buffers
# of the CPU that are as small as they like. It is built and run with each build of which it is out of date, with
# ARGUMENTS, and linked with LIBRARIES. What it launches is compiled for each of TARGETS, levels of x86-64: x86-64-v2, -v3
# and -v4 where none is named. The archive is ${name}.samite in the build folder, and the library ${name} has it linked
# in and opens it when the program starts.
function(samite_add_kernels name)
  cmake_parse_arguments(PARSE_ARGV 1 kernels "" "" "SOURCES;TARGETS;ARGUMENTS;LIBRARIES")
  if(NOT kernels_SOURCES)
    message(FATAL_ERROR "samite_add_kernels(${name}): SOURCES names no program; give one whose main() makes the launches")
  endif()
  foreach(target IN LISTS kernels_TARGETS)
    if(NOT target MATCHES "^x86-64-v[234]$")
      message(FATAL_ERROR "samite_add_kernels(${name}): \"${target}\" is no target; there are x86-64-v2, x86-64-v3 and "
                          "x86-64-v4")
    endif()
  endforeach()
  list(JOIN kernels_TARGETS "," targets)
  add_executable(${name}_generator ${kernels_SOURCES})
  target_link_libraries(${name}_generator PRIVATE samite::samite ${kernels_LIBRARIES})
  if(TARGET samite_clang)
    add_dependencies(${name}_generator samite_clang)
  endif()
  set(archive ${CMAKE_CURRENT_BINARY_DIR}/${name}.samite)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${name}_archive.cpp)
  # The archive of an earlier run would keep what is launched no more.
  add_custom_command(
    OUTPUT ${archive}
    COMMAND ${CMAKE_COMMAND} -E rm -f ${archive}
    COMMAND ${CMAKE_COMMAND} -E env SAMITE_AOT_RECORD=${archive} SAMITE_AOT_TARGETS=${targets}
            $<TARGET_FILE:${name}_generator> ${kernels_ARGUMENTS}
    DEPENDS ${name}_generator
    COMMENT "Compiling kernels ahead of time: ${name}"
    VERBATIM)
  file(GENERATE OUTPUT ${source} CONTENT "#include \"samite/toolchain/archives.h\"

asm(\".section .rodata\\n\"
    \".balign 16\\n\"
    \"${name}_archive_begin: .incbin \\\"${archive}\\\"\\n\"
    \"${name}_archive_end: .byte 0\\n\"
    \".previous\\n\");
extern const char ${name}_archive_begin[] __asm__(\"${name}_archive_begin\");
extern const char ${name}_archive_end[] __asm__(\"${name}_archive_end\");

namespace {
const bool opened =
    (samite::open_archive(\"${name}\", std::span<const char>(${name}_archive_begin, ${name}_archive_end)), true);
}
")
  set_source_files_properties(${source} PROPERTIES OBJECT_DEPENDS ${archive} GENERATED ON)
  add_library(${name} OBJECT ${source})
  target_link_libraries(${name} PUBLIC samite::samite)
endfunction()
