// expect: give_an_integer_for_each_dimension
#include "samite/lang/math.h"

using namespace samite;

Float read(Array<const float, 1> a, Int i) {
#ifdef SAMITE_EXPECT_OK
  return a(i);
#else
  return a(i, 0);
#endif
}
