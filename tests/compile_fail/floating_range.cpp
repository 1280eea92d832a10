// expect: write range(cast<Int>(x))
#include "samite/lang/math.h"

using namespace samite;

void count(Array<float, 1> a, Float limit) {
#ifdef SAMITE_EXPECT_OK
  for (Int i : range(Int(limit))) a(i) = 1;
#else
  for (Int i : range(limit)) a(i) = 1;
#endif
}
