// Compiles C++ text to object code with Clang, inside this process.
//
// No compiler process, no temporary files: sources and the precompiled prelude are in an in-memory file system. The
// caller's prelude is parsed once into a precompiled header; after that a kernel costs only its own text. Each call
// builds its own compiler instance and LLVM context, so calls may run concurrently.
#pragma once

#include "samite/toolchain/clang_plugin/plugin_abi.h"

#include <string>

namespace samite::clang_plugin {

struct Compiled {
  bool ok = false;
  std::string bytes;
  std::string diagnostics;
  double frontend_ms = 0, backend_ms = 0;
};

Compiled precompile_prelude(const SamiteClangInput &input);
Compiled compile_object(const SamiteClangInput &input);

}  // namespace samite::clang_plugin
