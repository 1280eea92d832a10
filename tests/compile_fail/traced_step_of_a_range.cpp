// expect: not traced: use while_
#include "samite/samite.h"

using namespace samite;

#ifdef SAMITE_EXPECT_OK
void count(Int n, Int) {
  for (Int i : range(0, n, 2)) i += 1;
}
#else
void count(Int n, Int step) {
  for (Int i : range(0, n, step)) i += 1;
}
#endif
