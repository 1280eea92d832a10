// expect: write_if_or_select
#include "samite/lang/math.h"

using namespace samite;

void clear(const Array<float, 1> &a, const Int &i) {
#ifdef SAMITE_EXPECT_OK
  if_(i > 0 && a(i) > 0, [&] { a(i) = 0; });
#else
  if (i > 0 && a(i) > 0) a(i) = 0;
#endif
}
