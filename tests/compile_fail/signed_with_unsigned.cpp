// expect: cast_one_operand
#include "samite/lang/math.h"

using namespace samite;

Int add(Int x, UInt y) {
#ifdef SAMITE_EXPECT_OK
  return x + cast<Int>(y);
#else
  return x + y;
#endif
}
