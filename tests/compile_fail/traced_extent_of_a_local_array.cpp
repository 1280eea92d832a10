// expect: n
#include "samite/samite.h"

using namespace samite;

#ifdef SAMITE_EXPECT_OK
void local(Int) { LocalArray<float, 8> a; }
#else
void local(Int n) { LocalArray<float, n> a; }
#endif
