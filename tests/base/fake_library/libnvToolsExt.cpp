// A library that calls itself NVTX, and prints the ranges that it is given.
#include <cstdio>

namespace {
thread_local int depth = 0;
}

extern "C" int nvtxRangePushA(const char *name) {
  std::printf("%*s%s {\n", 2 * depth, "", name);
  return depth++;
}

extern "C" int nvtxRangePop() {
  --depth;
  std::printf("%*s}\n", 2 * depth, "");
  return depth;
}
