// expect: deleted
#include "samite/lang/math.h"

using namespace samite;

Float narrow(Double x) {
#ifdef SAMITE_EXPECT_OK
  return Float(x);
#else
  return x;
#endif
}
