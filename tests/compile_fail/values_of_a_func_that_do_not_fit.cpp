// expect: give_as_many_values
#include "samite/samite.h"

using namespace samite;

void define(const Func<float, std::int32_t> &f, Var x) {
#ifdef SAMITE_EXPECT_OK
  f(x) = values(0.5f, x);
#else
  f(x) = values(0.5f, x, x);
#endif
}
