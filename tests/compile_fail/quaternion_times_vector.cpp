// expect: a quaternion turns a vector by rotate(q, v)
// at most 20 lines
#include "samite/samite.h"

using namespace samite;

#ifdef SAMITE_EXPECT_OK
Vec3f turn(const Quatf &q, const Vec3f &v) { return rotate(q, v); }
#else
Vec3f turn(const Quatf &q, const Vec3f &v) { return q * v; }
#endif
