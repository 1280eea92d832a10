// expect: the two vectors differ in size or in component type
#include "samite/samite.h"

using namespace samite;

#ifdef SAMITE_EXPECT_OK
Vec3f sum(Vec3f a, Vec3f b) { return a + b; }
#else
Vec3f sum(Vec3f a, Vec2f b) { return a + b; }
#endif
