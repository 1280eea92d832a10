// Finds and opens the compiler plug-in.
//
// Searched at $SAMITE_CLANG_PLUGIN only, if that is set; else next to the library that contains this code. It stays
// open, since LLVM does not support unloading. Thread-safe.
#pragma once

#include "samite/toolchain/clang_plugin/plugin_abi.h"

#include <string>

namespace samite {

// Opens the plug-in at the first call. Throws DeviceError naming what is missing and the package that has it; the
// next call then tries again.
const SamiteClangPlugin &clang_plugin();

bool clang_plugin_is_open();

// The path of the file, open or not; empty if there is none.
std::string clang_plugin_file();

// The compiler in the keys of compiled code, without opening it: a hash of the plug-in's sources, and the version of
// LLVM. Neither depends on where they were built, nor on whether this machine has them.
std::string clang_plugin_version();

// The same in the keys of precompiled headers, which only the very build that wrote them reads: with the build
// identifiers of the plug-in and of the LLVM libraries in the usual folders.
std::string clang_plugin_identity();

}  // namespace samite
