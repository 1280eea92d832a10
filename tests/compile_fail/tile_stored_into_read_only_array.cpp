// expect: to store into it, declare the parameter Array<T, Rank>
#include "samite/samite.h"

using namespace samite;

#ifdef SAMITE_EXPECT_OK
void zero(Array<float, 1> a) { tile::store(a, {0}, tile::zeros<float>({32})); }
#else
void zero(Array<const float, 1> a) { tile::store(a, {0}, tile::zeros<float>({32})); }
#endif
