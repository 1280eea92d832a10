// A library that calls itself nvJitLink, of the version in SAMITE_FAKE_NVJITLINK ("12.1"), and links nothing.
#include "samite/toolchain/cuda_abi.h"

#include <cstdio>
#include <cstdlib>

using samite::NvJitLinkResult;

extern "C" NvJitLinkResult nvJitLinkVersion(unsigned *major, unsigned *minor) {
  const char *text = std::getenv("SAMITE_FAKE_NVJITLINK");
  if (text == nullptr || std::sscanf(text, "%u.%u", major, minor) != 2) *major = 12, *minor = 4;
  return NvJitLinkResult::success;
}

// That they are there is all that is asked of them.
#define SAMITE_STUB(name, ...) \
  extern "C" NvJitLinkResult __nvJitLink##name##_12_4() { return NvJitLinkResult{1}; }
SAMITE_NVJITLINK_FUNCTIONS(SAMITE_STUB)
#undef SAMITE_STUB
