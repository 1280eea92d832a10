// expect: to change it, declare the parameter Array<T, Rank>
#include "samite/lang/atomic.h"

using namespace samite;

#ifdef SAMITE_EXPECT_OK
using Number = float;
#else
using Number = const float;
#endif

void count(Array<Number, 1> a) { atomic_add(a(0), 1); }
