// Finds and opens the compiler plug-in.
//
// It is looked for at $SAMITE_CLANG_PLUGIN, and only there if that is set; else beside the library that holds this
// code. Once open it stays so: LLVM is not made to be unloaded. Thread-safe.
#pragma once

#include "samite/toolchain/clang_plugin/plugin_abi.h"

#include <string>

namespace samite {

// Opens the plug-in at the first call. Throws DeviceError naming what is missing and the package that has it; the
// next call then tries again.
const SamiteClangPlugin &clang_plugin();

bool clang_plugin_is_open();

// Where the file is, open or not; empty where there is none.
std::string clang_plugin_file();

// Names the compiler in cache keys without opening it: the build identifiers of the plug-in and of the LLVM libraries
// in the usual places, so that a new compiler does not run an old one's code. An LLVM elsewhere goes unseen; its
// update leaves code in the cache that is old, but was right when it was made.
std::string clang_plugin_identity();

}  // namespace samite
