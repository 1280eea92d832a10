// expect: cast_what_is_assigned
// expect of Clang: it does not promote
// at most 20 lines
#include "samite/samite.h"

using namespace samite;

#ifdef SAMITE_EXPECT_OK
Float single(const Double &d) {
  Float f = cast<Float>(d);
  return f;
}
#else
Float single(const Double &d) {
  Float f = d;
  return f;
}
#endif
