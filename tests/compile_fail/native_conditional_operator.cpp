// expect: write_if_or_select
#include "samite/lang/math.h"

using namespace samite;

Float larger(Float x, Float y) {
#ifdef SAMITE_EXPECT_OK
  return select(x < y, y, x);
#else
  return x < y ? y : x;
#endif
}
