// Finds and opens the compiler plug-in.
//
// Searched at $SAMITE_CLANG_PLUGIN only, if that is set; else beside the library that contains this code. It stays
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

// Identifies the compiler in cache keys without opening it, by the build identifiers of the plug-in and of the LLVM
// libraries in the usual folders, so that a new compiler does not reuse an old one's code. An LLVM elsewhere is not
// detected; after its update the cache may still return older, correct code.
std::string clang_plugin_identity();

}  // namespace samite
