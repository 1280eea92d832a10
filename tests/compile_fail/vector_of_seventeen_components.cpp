// expect: a Vector has 1 to 16 components
#include "samite/samite.h"

using namespace samite;

#ifdef SAMITE_EXPECT_OK
Vector<Float, 16> longest();
auto size = decltype(longest())::size();
#else
Vector<Float, 17> longest();
auto size = decltype(longest())::size();
#endif
