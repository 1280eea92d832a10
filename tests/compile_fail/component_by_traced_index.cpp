// expect: a component of a vector or matrix is chosen by a C++ integer, not by a traced one
#include "samite/samite.h"

using namespace samite;

#ifdef SAMITE_EXPECT_OK
Float component(const Vec3f &v, Int i) { return select(i == 0, v[0], select(i == 1, v[1], v[2])); }
#else
Float component(const Vec3f &v, Int i) { return v[i]; }
#endif
