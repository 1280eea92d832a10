// expect: random numbers are float or double; draw a float and cast it
#include "samite/samite.h"

using namespace samite;

Half draw(Random &random) {
#ifdef SAMITE_EXPECT_OK
  return cast<Half>(random.uniform());
#else
  return random.uniform<half>();
#endif
}
