// Objects in memory to a shared object in memory, with LLD, inside this process.
//
// The alternative within LLVM is its ORC JIT, which would link and load in one go, but then every process that runs
// a cached kernel would have to load LLVM to relocate a few kilobytes: 10 to 20 ms, where a cached kernel may cost 5
// in all. A shared object is relocated by the system's own loader in about 0.1 ms, with LLVM out of sight; debuggers,
// profilers and sanitizers know it too. LLD takes about 2 ms to make one, most of it to read the system's libraries.
//
// The objects may use each other, the C library, libm and libmvec; any other undefined symbol is an error that names
// it. LLD keeps one state per process and resets LLVM's options: nothing else of LLVM may run meanwhile, no other link
// either.
#pragma once

#include "samite/toolchain/clang_plugin/plugin_abi.h"

#include <span>
#include <string>

namespace samite::clang_plugin {

struct Linked {
  bool ok = false;
  std::string bytes;
  std::string diagnostics;
  double milliseconds = 0;
};

Linked link_image(std::span<const SamiteText> objects);

}  // namespace samite::clang_plugin
