// expect: give_an_integer_for_each_dimension
#include "samite/lang/math.h"

using namespace samite;

Float read(Array<const float, 2> a, Int i) {
#ifdef SAMITE_EXPECT_OK
  return a(i, 0);
#else
  return a(i);
#endif
}
