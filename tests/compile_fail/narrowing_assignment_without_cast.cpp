// expect: cast_what_is_assigned
#include "samite/lang/math.h"

using namespace samite;

void narrow(Float &to, const Double &from) {
#ifdef SAMITE_EXPECT_OK
  to = cast<Float>(from);
#else
  to = from;
#endif
}
