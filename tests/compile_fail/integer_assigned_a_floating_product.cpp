// expect: cast<Int>(x)
#include "samite/lang/math.h"

using namespace samite;

#ifdef SAMITE_EXPECT_OK
void halve(Int i) { i = cast<Int>(i * 0.5); }
#else
void halve(Int i) { i = i * 0.5; }
#endif
