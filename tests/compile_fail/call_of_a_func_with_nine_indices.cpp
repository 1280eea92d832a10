// expect: give_integers_as_indices
#include "samite/samite.h"

using namespace samite;

Float read(const Func<float> &f, Int i) {
#ifdef SAMITE_EXPECT_OK
  return f(i, i, i, i, i, i, i, i);
#else
  return f(i, i, i, i, i, i, i, i, i);
#endif
}
