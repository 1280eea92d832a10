// The C interface between Samite and its compiler plug-in, `libsamite_clang.so`.
//
// The plug-in alone knows LLVM. It is opened at the first real compile, so that a program whose kernels are all in
// the cache never maps LLVM, and a process that already holds another LLVM never meets ours. Nothing but plain data
// crosses: no exceptions, no C++ library types. Both sides are built from one tree; `version` refuses a mixture.
//
// Ownership: inputs are borrowed for the call. An output belongs to the caller, who hands it back to `release`.
// Threads: every function may be called from several threads at once.
#pragma once

#include <stddef.h>
#include <stdint.h>

extern "C" {

enum { samite_clang_version = 3 };

struct SamiteText {
  const char *data;
  size_t size;
};

struct SamiteClangInput {
  SamiteText name;                 // of the source, for diagnostics and debug information
  SamiteText source;               // C++20
  SamiteText prelude;              // header text that comes before the source
  SamiteText precompiled_prelude;  // what `precompile` returned for the same prelude and options
  SamiteText architecture;         // a processor that LLVM knows, as "x86-64-v3"; empty: this machine's
  int32_t vector_bytes;            // widest vector register to use
  int32_t contraction;             // 0 or 1: whether a product and a sum may be fused
  int32_t optimization;            // 0 to 3
  int32_t debug_info;              // 0 or 1
};

struct SamiteClangOutput {
  SamiteText bytes;        // the precompiled prelude, an object, or a shared object; empty on failure
  SamiteText diagnostics;  // the compiler's or linker's words on failure
  int32_t ok;
  double frontend_ms, backend_ms, link_ms;
};

struct SamiteClangPlugin {
  uint32_t version;  // samite_clang_version
  const SamiteClangOutput *(*precompile)(const SamiteClangInput *);
  const SamiteClangOutput *(*compile)(const SamiteClangInput *);              // to an object
  const SamiteClangOutput *(*link)(const SamiteText *objects, size_t count);  // to a shared object
  void (*release)(const SamiteClangOutput *);
};

// The plug-in's only symbol. The table lives as long as the plug-in stays open.
typedef const SamiteClangPlugin *(*SamiteClangEntry)(void);
}
