// expect: an Array has rank 1 to 4
#include "samite/lang/math.h"

using namespace samite;

#ifdef SAMITE_EXPECT_OK
constexpr int rank = 4;
#else
constexpr int rank = 5;
#endif

Int size(Array<float, rank> a) { return a.extent(0); }
