// expect: use of deleted function
// expect of Clang: a Func has the types of the arrays
// at most 20 lines
#include "samite/samite.h"

using namespace samite;

#ifdef SAMITE_EXPECT_OK
void fill(const Array<int, 1> &a) { Func f{"f", a}; }
#else
void fill(const Array<int, 1> &a) { Func<float> f{"f", a}; }
#endif
