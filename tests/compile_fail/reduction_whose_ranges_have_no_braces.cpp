// expect: the range of each dimension has braces of its own
// at most 20 lines
#include "samite/samite.h"

using namespace samite;

#ifdef SAMITE_EXPECT_OK
auto window() { return Reduction{"r", {{0, 3}, {0, 3}}}; }
#else
auto window() { return Reduction{"r", 0, 3, 0, 3}; }
#endif
