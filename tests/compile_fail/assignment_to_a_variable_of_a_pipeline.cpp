// expect: a variable is not assigned: declare an Int
#include "samite/samite.h"

using namespace samite;

void next(Func<float> f) {
#ifdef SAMITE_EXPECT_OK
  Int x = Var{"x"};
#else
  Var x{"x"};
#endif
  x = 3;
  f(x);
}
