// expect: a quaternion turns a vector by rotate(q, v)
// at most 20 lines
#include "samite/samite.h"

using namespace samite;

#ifdef SAMITE_EXPECT_OK
Vec3f turn(const Array<const Quatf, 1> &q, const Array<const Vec3f, 1> &v) { return rotate(q(0), v(0)); }
#else
Vec3f turn(const Array<const Quatf, 1> &q, const Array<const Vec3f, 1> &v) { return q(0) * v(0); }
#endif
