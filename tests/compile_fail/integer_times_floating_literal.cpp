// expect: no match for
#include "samite/lang/math.h"

using namespace samite;

Float half(Int x) {
#ifdef SAMITE_EXPECT_OK
  return cast<Float>(x) * 0.5;
#else
  return x * 0.5;
#endif
}
