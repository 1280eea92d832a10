// expect: this array is read only
#include "samite/samite.h"

using namespace samite;

#ifdef SAMITE_EXPECT_OK
void store(Array<Vec3f, 1> a) { a(0) = Vec3f{1, 2, 3}; }
#else
void store(Array<const Vec3f, 1> a) { a(0) = Vec3f{1, 2, 3}; }
#endif
