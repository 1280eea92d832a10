// expect: cast_one_operand
#include "samite/samite.h"

using namespace samite;

Float sum(const F8E4M3 &x, const F8E4M3 &y) {
#ifdef SAMITE_EXPECT_OK
  return Float(x) + y;
#else
  return x + y;
#endif
}
