# Links Clang, LLVM and LLD into the plug-in from their static libraries, so that it needs nothing installed.
#
# By path: the targets of Debian's packages name the shared LLVM as what each static library needs. The linker takes the
# members that are needed from all of them.
file(GLOB archives ${LLVM_LIBRARY_DIR}/libclang[A-Z]*.a ${LLVM_LIBRARY_DIR}/libLLVM*.a)
list(APPEND archives ${LLVM_LIBRARY_DIR}/liblldELF.a ${LLVM_LIBRARY_DIR}/liblldCommon.a)
find_library(SAMITE_STATIC_ZLIB libz.a REQUIRED)
find_library(SAMITE_STATIC_ZSTD libzstd.a REQUIRED)

# LLD initialises every target of LLVM, and each is megabytes of code. Functions that do nothing, which the linker finds
# before LLVM's own, leave out the targets that the plug-in never compiles for.
set(left_out ${LLVM_TARGETS_TO_BUILD})
list(REMOVE_ITEM left_out ${LLVM_NATIVE_ARCH})
set(text "// Written by self_contained.cmake.\nextern \"C\" {\n")
foreach(target IN LISTS left_out)
  foreach(part TargetInfo Target TargetMC AsmPrinter AsmParser)
    string(APPEND text "void LLVMInitialize${target}${part}() {}\n")
  endforeach()
endforeach()
file(CONFIGURE OUTPUT left_out_targets.cpp CONTENT "${text}}\n" @ONLY)

target_sources(samite_clang PRIVATE ${CMAKE_CURRENT_BINARY_DIR}/left_out_targets.cpp no_polly.cpp)
target_link_libraries(samite_clang PRIVATE
  -Wl,--start-group ${archives} -Wl,--end-group ${SAMITE_STATIC_ZLIB} ${SAMITE_STATIC_ZSTD})
if(NOT CMAKE_BUILD_TYPE MATCHES Deb)
  target_link_options(samite_clang PRIVATE -s)
endif()
