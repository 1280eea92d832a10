// expect: an Array's element type is bool, an 8- to 64-bit integer, f8e4m3, f8e5m2, half, bfloat16, float or double
#include "samite/lang/math.h"

using namespace samite;

#ifdef SAMITE_EXPECT_OK
using Number = float;
#else
using Number = long double;
#endif

Int size(Array<Number, 1> a) { return a.extent(0); }
