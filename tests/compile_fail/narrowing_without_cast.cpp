// expect: could not convert
// expect of Clang: no viable conversion from
#include "samite/lang/math.h"

using namespace samite;

Float narrow(Double x) {
#ifdef SAMITE_EXPECT_OK
  return Float(x);
#else
  return x;
#endif
}
