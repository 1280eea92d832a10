// expect: cast_what_is_assigned
#include "samite/lang/math.h"

using namespace samite;

void count(Bool &a, const Bool &b) {
#ifdef SAMITE_EXPECT_OK
  a |= b;
#else
  a += b;
#endif
}
