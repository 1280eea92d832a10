// Links objects in memory to a shared object in memory, with LLD, inside this process.
//
// The alternative is LLVM's ORC JIT, which would link and load in one step, but then every process that runs a cached
// kernel would load LLVM to relocate a few kilobytes: 10 to 20 ms, while a cached kernel takes 5 in all. The system's
// loader relocates a shared object in about 0.1 ms without LLVM; debuggers, profilers and sanitizers support it, too.
// LLD takes about 2 ms to make one, mostly to read the system's libraries.
//
// The objects may use each other, the C library, libm and libmvec; any other undefined symbol is an error that names
// it. LLD has one state per process and resets LLVM's options: no other part of LLVM may run meanwhile, and no other
// link.
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
