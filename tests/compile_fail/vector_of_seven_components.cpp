// expect: a Vector has 1 to 6 components
#include "samite/samite.h"

using namespace samite;

#ifdef SAMITE_EXPECT_OK
Vector<Float, 6> longest();
auto size = decltype(longest())::size();
#else
Vector<Float, 7> longest();
auto size = decltype(longest())::size();
#endif
