// expect: write sqrt(cast<Float>(x))
#include "samite/lang/math.h"

using namespace samite;

#ifdef SAMITE_EXPECT_OK
Float root(Int x) { return sqrt(cast<Float>(x)); }
#else
Float root(Int x) { return sqrt(x); }
#endif
