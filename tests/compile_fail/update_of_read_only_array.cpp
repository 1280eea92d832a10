// expect: to store into it, declare the parameter Array<T, Rank>
#include "samite/lang/math.h"

using namespace samite;

#ifdef SAMITE_EXPECT_OK
using Number = float;
#else
using Number = const float;
#endif

void count(Array<Number, 1> a) { a(0) += 1; }
