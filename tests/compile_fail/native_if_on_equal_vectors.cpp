// expect: could not convert
// expect of Clang: is not contextually convertible to
#include "samite/samite.h"

using namespace samite;

Vec3f other(Vec3f a, Vec3f b) {
#ifdef SAMITE_EXPECT_OK
  return select(a == b, -b, b);
#else
  if (a == b) return -b;
  return b;
#endif
}
