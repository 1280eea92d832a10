// expect: the parameters of a pipeline have types that are written out: Array<float, 1> or Float, not auto
#include "samite/samite.h"

using namespace samite;

#ifdef SAMITE_EXPECT_OK
Pipeline twice {
  "twice", [](Array<float, 1> y, Array<const float, 1> x) {
#else
Pipeline twice{"twice", [](Array<float, 1> y, auto x) {
#endif
    Var i{"i"};
    Func output{"output", y};
    output(i) = 2.0f * x(i);
  }
};
