// expect: write_if_or_select
#include "samite/lang/math.h"

using namespace samite;

void halve(Float &x, const Float &limit) {
#ifdef SAMITE_EXPECT_OK
  while_([&] { return x > limit; }, [&] { x /= 2; });
#else
  while (x > limit) x /= 2;
#endif
}
