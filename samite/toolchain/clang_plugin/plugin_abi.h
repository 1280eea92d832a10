// The C interface between Samite and its compiler plug-in, `libsamite_clang.so`.
//
// Only the plug-in uses LLVM. It is opened at the first real compile, so that a program with only cached kernels never
// maps LLVM, and a process that already holds another LLVM never conflicts with ours. Only plain data crosses: no
// exceptions, no C++ library types. Both sides are built from one tree; `version` and `sources` reject a mixture.
//
// Ownership: inputs are borrowed for the call. An output belongs to the caller, who returns it to `release`. Threads:
// every function is thread-safe.
#pragma once

#include <stddef.h>
#include <stdint.h>

extern "C" {

enum { samite_clang_version = 4 };

struct SamiteText {
  const char *data;
  size_t size;
};

struct SamiteClangInput {
  SamiteText name;                 // of the source, for diagnostics and debug information
  SamiteText source;               // C++20
  SamiteText prelude;              // header text that precedes the source
  SamiteText precompiled_prelude;  // the result of `precompile` for the same prelude and options
  SamiteText architecture;         // a processor name of LLVM, as "x86-64-v3"; empty: this machine's
  int32_t vector_bytes;            // widest vector register to use
  int32_t contraction;             // 0 or 1: whether a product and a sum may be fused
  int32_t optimization;            // 0 to 3
  int32_t debug_info;              // 0 or 1
};

struct SamiteClangOutput {
  SamiteText bytes;        // the precompiled prelude, an object, or a shared object; empty on failure
  SamiteText diagnostics;  // the compiler's or linker's messages on failure
  int32_t ok;
  double frontend_ms, backend_ms, link_ms;
};

struct SamiteClangPlugin {
  uint32_t version;  // samite_clang_version
  const SamiteClangOutput *(*precompile)(const SamiteClangInput *);
  const SamiteClangOutput *(*compile)(const SamiteClangInput *);              // to an object
  const SamiteClangOutput *(*link)(const SamiteText *objects, size_t count);  // to a shared object
  void (*release)(const SamiteClangOutput *);
  const char *sources;  // a hash of the plug-in's sources, which is in the keys of what it compiles
};

// The plug-in's only symbol. The table lives as long as the plug-in stays open.
typedef const SamiteClangPlugin *(*SamiteClangEntry)(void);
}
