// expect: give_an_integer_for_each_dimension
#include "samite/lang/math.h"

using namespace samite;

Float read(Array<const float, 1> a, Float x) {
#ifdef SAMITE_EXPECT_OK
  return a(Int(x));
#else
  return a(x);
#endif
}
