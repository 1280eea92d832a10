// expect: positions are float or double
#include "samite/samite.h"

using namespace samite;

Half height(const Half &x) {
#ifdef SAMITE_EXPECT_OK
  return cast<Half>(perlin(Float(x)));
#else
  return perlin(x);
#endif
}
