// expect: convert one, as in Vec3d(v)
#include "samite/samite.h"

using namespace samite;

#ifdef SAMITE_EXPECT_OK
Double product(Vec3f a, Vec3d b) { return dot(Vec3d(a), b); }
#else
Double product(Vec3f a, Vec3d b) { return dot(a, b); }
#endif
