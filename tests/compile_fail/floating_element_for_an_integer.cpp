// expect: cast_what_is_assigned
// expect of Clang: it does not promote
// at most 20 lines
#include "samite/samite.h"

using namespace samite;

#ifdef SAMITE_EXPECT_OK
void level(const Array<float, 1> &a, Int i) { Int j = cast<Int>(a(i)); }
#else
void level(const Array<float, 1> &a, Int i) { Int j = a(i); }
#endif
