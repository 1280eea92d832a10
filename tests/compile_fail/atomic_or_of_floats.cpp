// expect: atomic_or is for arrays of integers or bool
#include "samite/lang/atomic.h"

using namespace samite;

#ifdef SAMITE_EXPECT_OK
using Number = int;
#else
using Number = float;
#endif

void mark(Array<Number, 1> a, Traced<Number> x) { atomic_or(a(0), x); }
