// expect: a kernel has a name, which comes first
// at most 20 lines
#include "samite/samite.h"

using namespace samite;

#ifdef SAMITE_EXPECT_OK
Kernel one{"one", [](Array<float, 1> a) { a(thread_index()) = 1; }};
#else
Kernel one{[](Array<float, 1> a) { a(thread_index()) = 1; }};
#endif
