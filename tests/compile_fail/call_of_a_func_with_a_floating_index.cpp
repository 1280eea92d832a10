// expect: give_integers_as_indices
#include "samite/samite.h"

using namespace samite;

Float read(const Func<float> &f, Float x) {
#ifdef SAMITE_EXPECT_OK
  return f(0, Int(x));
#else
  return f(0, x);
#endif
}
