// expect: the two arguments have types that do not meet; cast one of them
#include "samite/lang/math.h"

using namespace samite;

Int64 smaller(Int64 x, UInt64 y) {
#ifdef SAMITE_EXPECT_OK
  return min(x, cast<Int64>(y));
#else
  return cast<Int64>(min(x, y));
#endif
}
