// expect: to fill it, declare the parameter Array<T, Rank>
#include "samite/samite.h"

using namespace samite;

#ifdef SAMITE_EXPECT_OK
using Number = float;
#else
using Number = const float;
#endif

void fill(Array<Number, 1> a) { Func f{"f", a}; }
