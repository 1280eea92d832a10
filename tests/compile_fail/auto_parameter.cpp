// expect: the parameters of a kernel have types that are written out: Array<float, 1> or Float, not auto
#include "samite/samite.h"

using namespace samite;

#ifdef SAMITE_EXPECT_OK
Kernel scale{"scale", [](Array<float, 1> a, Float x) { a(0) *= x; }};
#else
Kernel scale{"scale", [](Array<float, 1> a, auto x) { a(0) *= x; }};
#endif
