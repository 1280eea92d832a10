// expect: cast_one_operand
#include "samite/lang/math.h"

using namespace samite;

Int count(Bool a, Bool b) {
#ifdef SAMITE_EXPECT_OK
  return Int(a) + Int(b);
#else
  return Int(a + b);
#endif
}
