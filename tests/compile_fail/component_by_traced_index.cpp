// expect: a component of a value on the host is chosen by a C++ integer, not by a traced one
// at most 20 lines
#include "samite/samite.h"

using namespace samite;

#ifdef SAMITE_EXPECT_OK
Float component(const Vec3f &v, Int i) { return v[i]; }
#else
void component(const Vector<float, 3> &v, Int i) { v[i]; }
#endif
