// expect: returns nothing: what it computes it stores in its arrays
#include "samite/samite.h"

using namespace samite;

#ifdef SAMITE_EXPECT_OK
Kernel square{"square", [](Array<float, 1> a) { a(0) = a(0) * a(0); }};
#else
Kernel square{"square", [](Array<float, 1> a) { return a(0) * a(0); }};
#endif
