# Compiles kernels while a program is built, so that the program runs on machines without a compiler.
#
#   find_package(samite REQUIRED)
#   samite_add_kernels(my_kernels SOURCES my_kernels_main.cpp simulation.cpp TARGETS x86-64-v3 x86-64-v4)
#   target_link_libraries(my_program PRIVATE my_kernels)
#
# SOURCES are a program whose main() makes the launches that the archive should contain, forward and adjoint, on CPU
# buffers that may be as small as it likes. The program is linked with LIBRARIES; the build runs it with ARGUMENTS
# whenever the archive is out of date. Its launches are compiled for each of TARGETS: levels of x86-64 (x86-64-v2, -v3
# and -v4; all of them if no target is named), and CUDA's architectures (sm_80, sm_90a, sm_100f, …; compute_80 and the
# like for PTX), which need NVRTC but neither a GPU nor a driver. ASSUME names properties that CUDA kernels may rely on:
# aligned, apart, covering, large (docs/shipping.md). ADJOINTS scale(y,x) loss(total,x) names kernels that main()
# constructs but need not launch, each with the arrays that track gradients: the archive gets the kernel and its
# adjoint, for contiguous arrays. The archive is ${name}.samite in the build folder; the library ${name} contains it and
# opens it when the program starts.
#
# C_INTERFACE adds the shared library ${name}_c, with C functions for each kernel, declared in the header ${name}.h in
# the build folder. It needs libsamite_runtime but not libsamite.
function(samite_add_kernels name)
  cmake_parse_arguments(PARSE_ARGV 1 kernels "C_INTERFACE" "" "SOURCES;TARGETS;ADJOINTS;ASSUME;ARGUMENTS;LIBRARIES")
  if(NOT kernels_SOURCES)
    message(FATAL_ERROR "samite_add_kernels(${name}): SOURCES names no program; give one whose main() makes the launches")
  endif()
  foreach(target IN LISTS kernels_TARGETS)
    if(NOT target MATCHES "^(x86-64-v[234]|sm_[0-9]+[af]?|compute_[0-9]+)$")
      message(FATAL_ERROR "samite_add_kernels(${name}): \"${target}\" is no target; there are x86-64-v2, x86-64-v3 and "
                          "x86-64-v4, and for CUDA sm_80, sm_90a, sm_100f and the like, or compute_80 for PTX")
    endif()
  endforeach()
  foreach(word IN LISTS kernels_ASSUME)
    if(NOT word MATCHES "^(aligned|apart|covering|large)$")
      message(FATAL_ERROR "samite_add_kernels(${name}): ASSUME can say aligned, apart, covering and large, not "
                          "\"${word}\"")
    endif()
  endforeach()
  # CMake splits scale(y, x) at its parentheses and spaces: join the pieces again.
  list(JOIN kernels_ADJOINTS "" adjoints)
  string(REPLACE " " "" adjoints "${adjoints}")
  string(REPLACE ")" ") " adjoints "${adjoints}")
  if(NOT adjoints MATCHES "^([A-Za-z_][A-Za-z0-9_]*[(][A-Za-z_][A-Za-z0-9_]*(,[A-Za-z_][A-Za-z0-9_]*)*[)] )*$")
    message(FATAL_ERROR "samite_add_kernels(${name}): ADJOINTS names each kernel with the arrays that track gradients, "
                        "as in scale(y,x); \"${adjoints}\" is none of that form")
  endif()
  list(JOIN kernels_TARGETS "," targets)
  list(JOIN kernels_ASSUME "," assume)
  add_executable(${name}_generator ${kernels_SOURCES})
  target_link_libraries(${name}_generator PRIVATE samite::samite ${kernels_LIBRARIES})
  if(TARGET samite_clang)
    add_dependencies(${name}_generator samite_clang)
  endif()
  set(archive ${CMAKE_CURRENT_BINARY_DIR}/${name}.samite)
  set(source ${CMAKE_CURRENT_BINARY_DIR}/${name}_archive.cpp)
  # An earlier archive would keep kernels that are no longer launched.
  add_custom_command(
    OUTPUT ${archive}
    COMMAND ${CMAKE_COMMAND} -E rm -f ${archive}
    COMMAND ${CMAKE_COMMAND} -E env SAMITE_AOT_RECORD=${archive} SAMITE_AOT_TARGETS=${targets} SAMITE_AOT_ASSUME=${assume}
            SAMITE_AOT_ADJOINTS=${adjoints}
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
  if(kernels_C_INTERFACE)
    samite_add_c_interface(${name} ${archive})
  endif()
endfunction()

function(samite_add_c_interface name archive)
  if(TARGET samite_aot)
    set(tool $<TARGET_FILE:samite_aot>)
    set(tool_target samite_aot)
  else()
    find_program(SAMITE_AOT_TOOL samite-aot HINTS ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/../../../bin REQUIRED)
    set(tool ${SAMITE_AOT_TOOL})
    set(tool_target)
  endif()
  set(files ${CMAKE_CURRENT_BINARY_DIR}/${name})
  add_custom_command(
    OUTPUT ${files}.h ${files}.c
    COMMAND ${tool} c ${archive} --output ${files}
    DEPENDS ${archive} ${tool_target}
    COMMENT "Writing C functions: ${name}"
    VERBATIM)
  # The assembler includes the archive.
  set_source_files_properties(${files}.c PROPERTIES OBJECT_DEPENDS ${archive})
  get_property(languages GLOBAL PROPERTY ENABLED_LANGUAGES)
  if(NOT C IN_LIST languages)
    set_source_files_properties(${files}.c PROPERTIES LANGUAGE CXX)
  endif()
  add_library(${name}_c SHARED ${files}.c ${files}.h)
  target_include_directories(${name}_c PUBLIC ${CMAKE_CURRENT_BINARY_DIR})
  target_link_libraries(${name}_c PUBLIC samite::samite_runtime)
endfunction()
