// expect: select: the two values have types that do not meet; cast one of them
#include "samite/lang/math.h"

using namespace samite;

Int pick(Bool p, Int x, UInt y) {
#ifdef SAMITE_EXPECT_OK
  return select(p, x, cast<Int>(y));
#else
  return cast<Int>(select(p, x, y));
#endif
}
